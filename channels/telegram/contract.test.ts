import { startTelegramServer } from '../../src/simulator/telegram/server.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { quickClock } from '../../src/testing/channel-host.ts';
import type { ChannelSetup } from '../../src/testing/channel-stage.ts';
import { MemoryLogger, outbound } from '../../src/testing/fakes.ts';
import { channelContract } from '../contract.ts';
import { channel as descriptor } from './index.ts';

async function setup(): Promise<ChannelSetup> {
  const server = await startTelegramServer();
  const create = (token: string) =>
    descriptor.create(descriptor.settings.parse({ api_root: server.url, poll_timeout_secs: 1, send_timeout_secs: 5 }), {
      ...channelDeps(),
      name: 'telegram',
      secret: () => token,
      clock: quickClock(),
      logger: new MemoryLogger(),
      random: Math.random,
    });
  return {
    people: ['1000', '2000'],
    create: () => create(server.token),
    createRefused: () => create('700001:revoked'),
    deliver: async ({ text, senderId, senderName, file }) => {
      const from = { id: Number(senderId), first_name: senderName };
      if (!file) return void server.inject({ from, text });
      server.addFile(file.name, file.bytes, file.statedSize);
      const size = file.statedSize ?? file.bytes.length;
      const document = { file_id: file.name, file_unique_id: file.name, file_name: file.name, file_size: size };
      server.inject({ from, caption: text, document });
    },
    seen: async () => server.sends.map(({ text, file }) => ({ text, ...(file && { fileName: file.name }) })),
    unacknowledged: async () => server.unconfirmed,
    connections: () => server.connections(),
    part: (override) => outbound({ channel: 'telegram', account: String(server.botId), chatId: '1000', ...override }),
    async limitNextSend() {
      const description = 'Too Many Requests: retry after 3';
      server.fault({ method: 'sendMessage', kind: 'error', status: 429, description, parameters: { retry_after: 3 } });
      return { statedMs: 3_000 };
    },
    loseNextReply: async () => server.fault({ method: 'sendMessage', kind: 'drop' }),
    refuseNextSend: async () =>
      server.fault({ method: 'sendMessage', kind: 'error', status: 400, description: 'Bad Request: chat not found' }),
    goDown: () => server.close(),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

channelContract('telegram', setup);
