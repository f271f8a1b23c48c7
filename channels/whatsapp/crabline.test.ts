/** The adapter against a foreign WhatsApp peer: its Noise, its Signal keys, how it reads what we encrypt. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startWhatsAppServer } from '@openclaw/crabline';
import { initAuthCreds } from '@whiskeysockets/baileys';
import { expect, test } from 'vitest';
import type { OutboundPart } from '../../src/core/message.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { outbound, until } from '../../src/testing/fakes.ts';
import { readMedia } from '../../src/testing/whatsapp/scene.ts';
import { channel as descriptor } from './index.ts';
import { LoginStore } from './wire/store.ts';

const SELF = '15550000000';
const ADA = '15551110000';

async function scene() {
  const dir = await mkdtemp(join(tmpdir(), 'gatehouse-crabline-'));
  const recorderPath = join(dir, 'whatsapp.jsonl');
  const { manifest, close } = await startWhatsAppServer({ recorderPath, selfJid: `${SELF}@s.whatsapp.net` });
  const me = { id: `${SELF}:3@s.whatsapp.net`, name: 'Bot' };
  using store = await LoginStore.open(join(dir, 'login', 'login.db'), { create: true, now: Date.now() });
  store?.write({ creds: { creds: { ...initAuthCreds(), me, registered: true, account: account() } } }, Date.now());
  // This peer sends what people write without encryption, which the adapter otherwise refuses.
  const settings = descriptor.settings.parse({
    web_socket_url: manifest.endpoints.baileysWebSocketUrl,
    media_root: manifest.baseUrl,
    require_encryption: false,
  });
  const deps = channelDeps({ name: 'whatsapp', dir: join(dir, 'login') });
  const channel = await descriptor.create(settings, deps);
  const host = new TestHost();
  const { signal } = new AbortController();
  await channel.start(host, signal);
  return {
    ...{ channel, host, signal },
    send: (part: Partial<OutboundPart>) =>
      channel.send(outbound({ channel: 'whatsapp', account: channel.account, chatId: ADA, ...part }), { plain: false, signal }),
    async inject(message: Readonly<Record<string, unknown>>) {
      const response = await fetch(manifest.endpoints.adminInboundUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-crabline-admin-token': manifest.adminToken, connection: 'close' },
        body: JSON.stringify(message),
      });
      if (!response.ok) throw new Error(`refused: ${response.status} ${await response.text()}`);
      await response.body?.cancel();
    },
    /** What the peer could decrypt, oldest first. */
    async read() {
      const lines = (await readFile(recorderPath, 'utf8')).split('\n').filter((line) => line !== '');
      return lines
        .map(
          (line) =>
            JSON.parse(line) as { accepted?: boolean; body?: { key?: { id: string }; message?: { conversation?: string } } },
        )
        .filter(({ accepted }) => accepted === true)
        .map(({ body }) => [body?.key?.id, body?.message?.conversation]);
    },
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Shown with the first message of a session; this peer does not look into it. */
function account() {
  return {
    details: Buffer.alloc(1),
    accountSignature: Buffer.alloc(64),
    accountSignatureKey: Buffer.alloc(32),
    deviceSignature: Buffer.alloc(64),
  };
}

test('text goes in and its answer goes out, encrypted so that the peer can read it', async () => {
  await using at = await scene();
  await at.inject({ chatJid: `${ADA}@s.whatsapp.net`, senderJid: `${ADA}@s.whatsapp.net`, pushName: 'Ada', text: 'ping' });
  const message = await until('the message arrived', () => at.host.accepted[0]);
  expect(message).toMatchObject({ text: 'ping', senderId: ADA, senderName: 'Ada', chatId: ADA, isGroup: false });
  const sent = await at.send({ chatId: message.chatId, text: '**pong** & more' });
  expect(sent).toMatchObject({ kind: 'sent' });
  const id = sent.kind === 'sent' ? sent.platformId.split(':')[2] : '';
  expect(await at.read()).toEqual([[id, '*pong* & more']]);
});

test('a second message goes on with the same session', async () => {
  await using at = await scene();
  expect(await at.send({ text: 'one', key: 'k1' })).toMatchObject({ kind: 'sent' });
  expect(await at.send({ text: 'two', key: 'k2' })).toMatchObject({ kind: 'sent' });
  expect((await at.read()).map(([, text]) => text)).toEqual(['one', 'two']);
});

test('a group message names its author', async () => {
  await using at = await scene();
  await at.inject({ chatJid: '120363000000000001@g.us', senderJid: `${ADA}@s.whatsapp.net`, text: 'hello all' });
  const message = await until('the message arrived', () => at.host.accepted[0]);
  expect(message).toMatchObject({
    text: 'hello all',
    chatId: '120363000000000001@g.us',
    senderId: ADA,
    isGroup: true,
    mentionsBot: false,
  });
});

test('a voice note that the peer stored is fetched and decrypted', async () => {
  await using at = await scene();
  const contentBase64 = Buffer.from('OggS voice').toString('base64');
  const audio = { contentBase64, mimeType: 'audio/ogg', ptt: true };
  await at.inject({ chatJid: `${ADA}@s.whatsapp.net`, senderJid: `${ADA}@s.whatsapp.net`, audio });
  const message = await until('the message arrived', () => at.host.accepted[0]);
  expect(message.media).toMatchObject([{ kind: 'voice', mime: 'audio/ogg' }]);
  expect(String(await readMedia(at.channel, message.media[0], at.signal))).toBe('OggS voice');
});
