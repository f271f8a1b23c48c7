// Played by channels/capabilities.test.ts against our own Twilio server.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Channel } from '../../src/core/channel.ts';
import type { MediaKind, OutboundPart } from '../../src/core/message.ts';
import { sha256 } from '../../src/simulator/telegram/wire.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { outbound, tempDir, until } from '../../src/testing/fakes.ts';
import { type TwilioScene, twilioScene } from '../../src/testing/twilio/scene.ts';
import type { CapabilityCases } from '../capabilities.ts';
import { channel as descriptor } from './index.ts';

const ADA = '+14155550001';
const BYTES = Buffer.alloc(40_000, 'gatehouse');

async function play(run: (scene: TwilioScene) => Promise<void>): Promise<void> {
  await using scene = await twilioScene(descriptor);
  await run(scene);
}

function send(channel: Channel, part: Partial<OutboundPart>) {
  const options = { plain: false, signal: new AbortController().signal };
  return channel.send(outbound({ channel: 'twilio', account: channel.account, chatId: ADA, ...part }), options);
}

const fileIn = (kind: MediaKind, mime: string) => () =>
  play(async ({ platform, start }) => {
    const { channel, host } = await start();
    platform.inject(ADA, 'look', { files: [{ bytes: BYTES, mime }] });
    const message = await until('it arrived', () => host.accepted[0]);
    expect(message.media).toMatchObject([{ kind, mime }]);
    const [media] = message.media;
    const file = media && (await channel.download?.(media, new AbortController().signal));
    const chunks: Uint8Array[] = [];
    for await (const chunk of file?.bytes ?? []) chunks.push(chunk);
    expect(Buffer.concat(chunks)).toEqual(BYTES);
    expect(platform.storeAuthorizations).toEqual([]);
  });

const fileOut = (kind: MediaKind, mime: string, name: string) => () =>
  play(async ({ platform, start }) => {
    const { channel } = await start();
    await using dir = await tempDir();
    const path = join(dir.path, 'copy');
    await writeFile(path, BYTES);
    const file = { path, name, mime, kind, bytes: BYTES.length };
    expect(await send(channel, { text: '**see**', file })).toMatchObject({
      kind: 'sent',
      platformId: expect.stringMatching(/^MM/),
    });
    expect(platform.sends).toMatchObject([{ body: 'see', media: [{ status: 200, mime, name, sha256: sha256(BYTES) }] }]);
  });

export const cases: CapabilityCases = {
  'text in': () =>
    play(async ({ platform, start }) => {
      const { host } = await start();
      platform.inject(ADA, 'hello 👋 größe & <b>');
      const message = await until('it arrived', () => host.accepted[0]);
      expect(message).toMatchObject({ text: 'hello 👋 größe & <b>', senderId: ADA, chatId: ADA, isGroup: false });
      expect(message).not.toHaveProperty('refusal');
    }),
  'text out': () =>
    play(async ({ platform, start }) => {
      const { channel } = await start();
      const text = '# Plan\n\n- **one**\n- [two](https://example.org/x)';
      expect(await send(channel, { text })).toMatchObject({ kind: 'sent', platformId: expect.stringMatching(/^SM/) });
      expect(platform.sends).toMatchObject([
        { to: ADA, from: platform.number, body: 'Plan\n\n- one\n- two (https://example.org/x)' },
      ]);
    }),
  'photo in': fileIn('photo', 'image/jpeg'),
  'photo out': fileOut('photo', 'image/jpeg', 'pic.jpg'),
  'voice in': fileIn('voice', 'audio/amr'),
  'voice out': fileOut('voice', 'audio/ogg', 'voice.ogg'),
  'audio in': fileIn('audio', 'audio/mpeg'),
  'audio out': fileOut('audio', 'audio/mpeg', 'song.mp3'),
  'document in': fileIn('document', 'text/x-vcard'),
  'document out': fileOut('document', 'application/pdf', 'plan.pdf'),
  'album in': () =>
    play(async ({ platform, start }) => {
      const { host } = await start();
      const files = ['image/jpeg', 'image/png', 'video/mp4'].map((mime) => ({ bytes: BYTES, mime }));
      platform.inject(ADA, '', { files });
      const message = await until('it arrived', () => host.accepted[0]);
      expect(message.media.map(({ kind }) => kind)).toEqual(['photo', 'photo', 'video']);
      expect(host.accepted).toHaveLength(1);
    }),
  'thread in': 'text messages have no threads: one number is one conversation',
  'thread out': 'text messages have no threads: one number is one conversation',
  'threads of its own': 'text messages have no threads: one number is one conversation',
  'reply in': 'a text message refers to no other: what a phone shows as a reply arrives as plain text',
  'reply out': 'a text message cannot refer to another',
  'earlier messages': 'a number is in no groups',
  'reaction in': 'phones send a reaction as a text message in words, in their own language',
  'reaction out': 'text messages have no reactions',
  'edit in': 'a text message cannot be changed once sent',
  'delete in': 'a text message cannot be taken back',
  'edit out': 'a text message cannot be changed once sent',
  typing: 'the network has no typing indicator',
  buttons: 'text messages have no buttons; choices are listed in the text',
  'command in': () =>
    play(async ({ platform, start }) => {
      const { host } = await start();
      platform.inject(ADA, '/new');
      const message = await until('it arrived', () => host.accepted[0]);
      expect(message).toMatchObject({ kind: 'message', text: '/new' });
      expect(message).not.toHaveProperty('refusal');
    }),
  'select menu': 'text messages have no menus; choices are listed in the text',
  'command answers for one person': 'a Twilio number is in no groups',
  'assistant pane': 'the pane is a feature of Slack',
  shortcuts: 'phones have no actions that a number adds',
  'mention in a group': 'a Twilio number is in no groups; a group message reaches it as one from its author alone',
  'catch-up after a disconnect': () =>
    play(async ({ platform, start }) => {
      const { channel, host } = await start();
      platform.inject(ADA, 'before');
      await until('it arrived', () => host.accepted.length === 1);
      await channel.stop();
      platform.inject(ADA, 'while down 1', { silent: true });
      platform.inject(ADA, 'while down 2', { silent: true, files: [{ bytes: BYTES, mime: 'image/png' }] });
      await start({}, host);
      await until('both came', () => host.accepted.length === 3);
      expect(host.accepted.map(({ text }) => text)).toEqual(['before', 'while down 1', 'while down 2']);
      expect(host.accepted[2]?.media).toMatchObject([{ kind: 'photo' }]);
    }),
  'second key': 'a message has one SID, in the webhook and in the list',
  'proof of a send': () =>
    play(async ({ platform, create, start }) => {
      const { channel } = await start({}, new TestHost());
      const part = outbound({
        channel: 'twilio',
        account: platform.number,
        chatId: ADA,
        text: 'did it arrive?',
        replyContext: { receivedAt: Date.now() },
      });
      platform.fault({ call: 'send', kind: 'drop' });
      expect(await send(channel, part)).toMatchObject({ kind: 'unknown' });
      // A restart remembers nothing.
      const later = await create();
      const signal = new AbortController().signal;
      expect(await later.find?.(part, signal)).toEqual({ platformId: platform.sends[0]?.sid });
      expect(await later.find?.({ ...part, text: 'never sent' }, signal)).toBe('absent');
    }),
};
