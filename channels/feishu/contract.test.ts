import { channelDeps } from '../../src/testing/channel-deps.ts';
import { quickClock } from '../../src/testing/channel-host.ts';
import { outbound } from '../../src/testing/fakes.ts';
import { startFeishuServer, visibleText } from '../../src/testing/feishu-server.ts';
import { type ChannelSetup, channelContract } from '../contract.ts';
import { channel as descriptor } from './index.ts';

async function setup(): Promise<ChannelSetup> {
  const server = await startFeishuServer();
  const create = (secret: string) =>
    descriptor.create(descriptor.settings.parse({ api_root: server.url, send_timeout_secs: 20 }), {
      ...channelDeps(),
      name: 'feishu',
      secret: (variable) => (variable === 'FEISHU_APP_ID' ? server.appId : secret),
      clock: quickClock(),
      random: Math.random,
    });
  return {
    people: ['ou_ada', 'ou_eve'],
    create: () => create(server.appSecret),
    createRefused: () => create('revoked'),
    // The platform sends no names with messages.
    deliver: async ({ text, senderId, file }) => {
      if (!file) return void server.say({ openId: senderId, text });
      server.files.set(file.name, file.bytes);
      const line = [
        { tag: 'text', text },
        { tag: 'media', file_key: file.name, image_key: 'img_v3_cover' },
      ];
      server.say({ openId: senderId, type: 'post', content: { title: '', content: [line] } });
    },
    seen: async () => server.posts.map((post) => ({ text: visibleText(post) })),
    unacknowledged: async () => server.unacknowledged,
    connections: async () => server.connections,
    part: (override) => outbound({ channel: 'feishu', account: server.appId, chatId: 'oc_ou_ada', ...override }),
    async limitNextSend() {
      const headers = { 'x-ogw-ratelimit-limit': '100', 'x-ogw-ratelimit-reset': '3' };
      server.faults.push({ match: /^POST .*messages$/, kind: 'error', status: 429, code: 99991400, headers });
      return { statedMs: 3_000 };
    },
    loseNextReply: async () => void server.faults.push({ match: /^POST .*messages$/, kind: 'drop' }),
    refuseNextSend: async () =>
      void server.faults.push({
        match: /^POST .*messages$/,
        kind: 'error',
        status: 400,
        code: 230002,
        msg: 'The bot can not be outside the group.',
      }),
    goDown: () => server.close(),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

channelContract('feishu', setup);
