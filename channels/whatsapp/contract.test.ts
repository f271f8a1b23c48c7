import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { proto } from '@whiskeysockets/baileys';
import { startWhatsAppPlatform } from '../../src/simulator/whatsapp/server.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { quickClock } from '../../src/testing/channel-host.ts';
import type { ChannelSetup } from '../../src/testing/channel-stage.ts';
import { outbound, tempDir } from '../../src/testing/fakes.ts';
import { channelContract } from '../contract.ts';
import { channel as descriptor } from './index.ts';

async function setup(): Promise<ChannelSetup> {
  const platform = await startWhatsAppPlatform();
  const dir = await tempDir(existsSync('/dev/shm') ? '/dev/shm' : undefined);
  const login = join(dir.path, 'login');
  await platform.link(login);
  const create = (path: string) =>
    descriptor.create(
      descriptor.settings.parse({ web_socket_url: platform.url, media_root: platform.httpUrl, send_timeout_secs: 300 }),
      {
        ...channelDeps({ name: 'whatsapp', dir: path, clock: quickClock(), random: Math.random }),
      },
    );
  return {
    people: ['15551110000', '15552220000'],
    create: () => create(login),
    async createRefused() {
      const removed = join(dir.path, 'removed');
      await platform.link(removed, { known: false });
      return await create(removed);
    },
    async deliver({ text, senderId, senderName, file }) {
      const from = platform.person(senderId, senderName);
      if (!file) return void (await platform.write({ from, message: { conversation: text } }));
      const stored = platform.media.store('document', file.bytes, file.statedSize);
      await platform.write({
        from,
        message: { documentMessage: { ...stored, caption: text, fileName: file.name, mimetype: 'text/plain' } },
      });
    },
    seen: async () => platform.seen.map(({ message }) => ({ text: textOf(message) })),
    unacknowledged: async () => platform.unacknowledged,
    connections: async () => platform.connections,
    part: (override) => {
      platform.person('15551110000');
      return outbound({ channel: 'whatsapp', account: platform.owner.phone, chatId: '15551110000', ...override });
    },
    async limitNextSend() {
      platform.faults.push({ kind: 'refuse', code: 429 });
      return {};
    },
    loseNextReply: async () => void platform.faults.push({ kind: 'cut' }),
    refuseNextSend: async () => void platform.faults.push({ kind: 'refuse', code: 404 }),
    goDown: () => platform[Symbol.asyncDispose](),
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

function textOf(message: proto.IMessage): string {
  return message.extendedTextMessage?.text ?? message.conversation ?? '';
}

channelContract('whatsapp', setup);
