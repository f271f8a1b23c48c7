import { visibleText } from '../../src/simulator/feishu/posts.ts';
import { quickClock } from '../../src/testing/channel-host.ts';
import type { ChannelSetup } from '../../src/testing/channel-stage.ts';
import { outbound } from '../../src/testing/fakes.ts';
import { feishuPlatform } from '../../src/testing/feishu/scene.ts';
import { channelContract } from '../contract.ts';

const SEND = /^POST .*messages$/;

async function setup(mode: 'ws' | 'webhook'): Promise<ChannelSetup> {
  const platform = await feishuPlatform(mode);
  const { server } = platform;
  // A webhook has 2.5 s for its answer: enough of it must be left on a busy machine.
  const clock = quickClock(mode === 'ws' ? 20 : 5);
  return {
    people: ['ou_ada', 'ou_eve'],
    create: () => platform.create({ clock }),
    createRefused: () => platform.create({ clock, secret: 'revoked' }),
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
      server.faults.push({ match: SEND, kind: 'error', status: 429, code: 99991400, headers });
      return { statedMs: 3_000 };
    },
    loseNextReply: async () => void server.faults.push({ match: SEND, kind: 'drop' }),
    refuseNextSend: async () => {
      server.faults.push({ match: SEND, kind: 'error', status: 400, code: 230002, msg: 'The bot can not be outside the group.' });
    },
    goDown: () => server.close(),
    [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
  };
}

channelContract('feishu over a long connection', () => setup('ws'));
channelContract('feishu over webhooks', () => setup('webhook'));
