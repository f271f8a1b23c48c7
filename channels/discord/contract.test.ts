import { backoffClock, startDiscordProxy } from '../../src/simulator/discord/proxy.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import type { ChannelSetup } from '../../src/testing/channel-stage.ts';
import { MemoryLogger, outbound } from '../../src/testing/fakes.ts';
import { channelContract } from '../contract.ts';
import { channel as descriptor } from './index.ts';

const ADA = '201000000000000001';
const BOB = '201000000000000002';
const MESSAGES = /^POST \/channels\/\d+\/messages$/;

async function setup(): Promise<ChannelSetup> {
  const proxy = await startDiscordProxy();
  const settings = { api_root: proxy.url, cdn_origins: [proxy.origin], slash_commands: false };
  const create = (token: string) =>
    descriptor.create(descriptor.settings.parse(settings), {
      ...channelDeps(),
      name: 'discord',
      secret: () => token,
      clock: backoffClock(),
      logger: new MemoryLogger(),
      random: Math.random,
    });
  // A private chat has an id of its own, which is not the person's.
  const privateChat = (person: string): string => `30${person.slice(2)}`;
  // The bot knows the chat: somebody wrote there before.
  await proxy.peer.inject({ channelId: privateChat(ADA), senderId: ADA, content: 'earlier' });
  return {
    people: [ADA, BOB],
    create: () => create(proxy.peer.token),
    createRefused: () => create(proxy.peer.token.replace(/[^.]+$/, 'revoked')),
    deliver: async ({ text, senderId, senderName, file }) => {
      const message = { channelId: privateChat(senderId), senderId, senderName, content: text };
      await proxy.write(message, file ? { files: [file] } : {});
    },
    seen: async () =>
      proxy.sends().map(({ body, files }) => ({
        text: String(body['content'] ?? ''),
        ...(files[0] && { fileName: files[0].name }),
      })),
    connections: async () => proxy.connections(),
    part: (override) => outbound({ channel: 'discord', account: proxy.peer.botId, chatId: privateChat(ADA), ...override }),
    async limitNextSend() {
      const headers = { 'retry-after': '3', 'x-ratelimit-scope': 'user' };
      proxy.fault({
        call: MESSAGES,
        kind: 'answer',
        status: 429,
        headers,
        body: { message: 'slow down', retry_after: 3, global: false },
      });
      return { statedMs: 3_000 };
    },
    loseNextReply: async () => proxy.fault({ call: MESSAGES, kind: 'drop' }),
    refuseNextSend: async () =>
      proxy.fault({ call: MESSAGES, kind: 'answer', status: 404, body: { message: 'Unknown Channel', code: 10_003 } }),
    goDown: () => proxy.close(),
    [Symbol.asyncDispose]: () => proxy.close(),
  };
}

channelContract('discord', setup);
