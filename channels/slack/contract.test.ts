/** In both modes, against the test workspace. */

import { DIRECT } from '../../src/simulator/slack/workspace.ts';
import type { ChannelSetup } from '../../src/testing/channel-stage.ts';
import { outbound } from '../../src/testing/fakes.ts';
import { type SlackSetupOptions, slackSetup } from '../../src/testing/slack/setup.ts';
import { channelContract } from '../contract.ts';
import { channel as descriptor } from './index.ts';

async function setup(mode: NonNullable<SlackSetupOptions['mode']>): Promise<ChannelSetup> {
  const at = await slackSetup(descriptor, { mode });
  const { server } = at;
  return {
    people: ['U0ADA', 'U0BOB'],
    create: () => at.create(),
    createRefused: () => at.create('xoxb-111111111111-222222222222-revoked'),
    async deliver({ text, senderId, senderName, file }) {
      const files = file ? { files: [server.file(file)] } : {};
      server.say({ text, user: senderId, user_profile: { display_name: senderName }, ...files });
    },
    seen: async () => server.sends.map(({ text, fileName }) => ({ text, ...(fileName !== undefined && { fileName }) })),
    unacknowledged: async () => (at.requests ?? server.sockets).unacknowledged,
    connections: () => server.connections(),
    part: (override) => outbound({ channel: 'slack', chatId: DIRECT, ...override }),
    async limitNextSend() {
      server.fault({ method: 'chat.postMessage', kind: 'limit', retryAfter: 3 });
      return { statedMs: 3_000 };
    },
    loseNextReply: async () => server.fault({ method: 'chat.postMessage', kind: 'drop' }),
    refuseNextSend: async () => server.fault({ method: 'chat.postMessage', kind: 'error', error: 'channel_not_found' }),
    goDown: () => server.close(),
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

channelContract('slack over a socket', () => setup('socket'));
channelContract('slack over signed requests', () => setup('http'));
