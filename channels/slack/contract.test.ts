import { channelDeps, testWebhooks } from '../../src/testing/channel-deps.ts';
import { quickClock } from '../../src/testing/channel-host.ts';
import { outbound } from '../../src/testing/fakes.ts';
import { type SlackServer, startSlackServer } from '../../src/testing/slack-server.ts';
import { DIRECT } from '../../src/testing/slack-workspace.ts';
import { type ChannelSetup, channelContract } from '../contract.ts';
import { channel as descriptor } from './index.ts';

async function setup(): Promise<ChannelSetup> {
  const server = await startSlackServer();
  return {
    ...common(server),
    create: () => create(server, server.botToken),
    createRefused: () => create(server, 'xoxb-111111111111-222222222222-revoked'),
    unacknowledged: async () => server.sockets.unacknowledged,
  };
}

function create(server: SlackServer, botToken: string) {
  const secrets: Record<string, string> = { SLACK_BOT_TOKEN: botToken, SLACK_APP_TOKEN: server.appToken };
  return descriptor.create(descriptor.settings.parse({ api_root: server.apiRoot, send_timeout_secs: 5 }), {
    ...channelDeps(),
    name: 'slack',
    secret: (variable) => secrets[variable] ?? '',
    clock: quickClock(),
    random: Math.random,
  });
}

function common(server: SlackServer) {
  return {
    people: ['U0ADA', 'U0BOB'] as const,
    async deliver({ text, senderId, senderName, file }: Parameters<ChannelSetup['deliver']>[0]) {
      const files = file ? { files: [server.file(file)] } : {};
      server.say({ text, user: senderId, user_profile: { display_name: senderName }, ...files });
    },
    seen: async () => server.sends.map(({ text, fileName }) => ({ text, ...(fileName !== undefined && { fileName }) })),
    connections: () => server.connections(),
    part: (override: Parameters<ChannelSetup['part']>[0]) => outbound({ channel: 'slack', chatId: DIRECT, ...override }),
    async limitNextSend() {
      server.fault({ method: 'chat.postMessage', kind: 'limit', retryAfter: 3 });
      return { statedMs: 3_000 };
    },
    loseNextReply: async () => server.fault({ method: 'chat.postMessage', kind: 'drop' }),
    refuseNextSend: async () => server.fault({ method: 'chat.postMessage', kind: 'error', error: 'channel_not_found' }),
    goDown: () => server.close(),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

channelContract('slack over a socket', setup);
void testWebhooks;
