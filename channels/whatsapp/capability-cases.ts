/** What people can do on WhatsApp, played against our own server with real Noise and Signal. For tests. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { proto } from '@whiskeysockets/baileys';
import { expect } from 'vitest';
import type { MediaKind } from '../../src/core/message.ts';
import { wordsOf } from '../../src/simulator/whatsapp/readers.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { outbound, tempDir, until } from '../../src/testing/fakes.ts';
import { readMedia, type WhatsAppScene, whatsAppScene } from '../../src/testing/whatsapp/scene.ts';

import type { CapabilityCases } from '../capabilities.ts';

const ADA = '15551110000';
const GROUP = '120363000000000001@g.us';

const play = (run: (at: WhatsAppScene) => Promise<void>) => async (): Promise<void> => {
  await using at = await whatsAppScene();
  at.platform.person(ADA, 'Ada');
  await run(at);
};

const FILES = {
  photo: { stored: 'image', mime: 'image/jpeg', name: 'p.jpg', field: 'imageMessage' },
  voice: { stored: 'audio', mime: 'audio/ogg', name: 'v.ogg', field: 'audioMessage' },
  audio: { stored: 'audio', mime: 'audio/mpeg', name: 'a.mp3', field: 'audioMessage' },
  document: { stored: 'document', mime: 'text/plain', name: 'd.txt', field: 'documentMessage' },
} as const;

function fileIn(kind: keyof typeof FILES) {
  return play(async ({ platform, channel, received, signal }) => {
    const bytes = Buffer.from(`the bytes of a ${kind}`);
    const { stored, mime, name, field } = FILES[kind];
    const file = { ...platform.media.store(stored, bytes), mimetype: mime };
    const more = stored === 'audio' ? { ptt: kind === 'voice' } : { caption: 'look', fileName: name };
    await platform.write({ from: platform.person(ADA), message: { [field]: { ...file, ...more } } });
    const { media, text } = await received();
    expect([text, media.map((ref) => [ref.kind, ref.mime])]).toEqual([stored === 'audio' ? '' : 'look', [[kind, mime]]]);
    expect(await readMedia(channel, media[0], signal)).toEqual(bytes);
  });
}

function fileOut(kind: keyof typeof FILES) {
  return play(async ({ platform, send }) => {
    await using dir = await tempDir();
    const { mime, name, field, stored } = FILES[kind];
    const path = join(dir.path, name);
    const bytes = Buffer.from(`the bytes of a ${kind}`);
    await writeFile(path, bytes);
    // A sound carries no words.
    const words = stored === 'audio' ? '' : 'here';
    const file = { path, name, mime, kind: kind as MediaKind, bytes: bytes.length };
    expect(await send({ text: words, file })).toMatchObject({ kind: 'sent' });
    const message = platform.seen[0]?.message ?? {};
    const content = message.documentWithCaptionMessage?.message ?? message;
    const sent = content[field];
    expect(wordsOf(message)).toBe(words);
    if (kind === 'document') expect(content.documentMessage?.fileName).toBe(name);
    if (stored === 'audio') expect(content.audioMessage?.ptt ?? false).toBe(kind === 'voice');
    // Opened by the official client.
    expect(await platform.media.open(sent ?? {}, stored)).toEqual(bytes);
  });
}

const NO_THREADS = 'WhatsApp has no threads, only quotes';

const reaction = (key: proto.IMessageKey, text: string): proto.IMessage => ({ reactionMessage: { key, text } });

export const cases: CapabilityCases = {
  'text in': play(async ({ platform, received }) => {
    await platform.write({ from: platform.person(ADA), message: { extendedTextMessage: { text: 'hello' } } });
    expect(await received()).toMatchObject({ text: 'hello', senderId: ADA, chatId: ADA, isGroup: false, senderName: 'Ada' });
  }),
  'text out': play(async ({ platform, send }) => {
    expect(await send({ text: 'a **b** `c`' })).toMatchObject({ kind: 'sent' });
    expect(platform.seen.map(({ message }) => wordsOf(message))).toEqual(['a *b* `c`']);
  }),
  'photo in': fileIn('photo'),
  'photo out': fileOut('photo'),
  'voice in': fileIn('voice'),
  'voice out': fileOut('voice'),
  'audio in': fileIn('audio'),
  'audio out': fileOut('audio'),
  'document in': fileIn('document'),
  'document out': fileOut('document'),
  'album in': play(async ({ platform, received, host }) => {
    const from = platform.person(ADA);
    const id = await platform.write({ from, message: { albumMessage: { expectedImageCount: 2, expectedVideoCount: 0 } } });
    const messageContextInfo = { messageAssociation: { associationType: 1, parentMessageKey: { id } } };
    const pictures = ['one', 'two'].map((caption) => {
      const file = platform.media.store('image', Buffer.from(caption));
      const imageMessage = { ...file, caption, mimetype: 'image/jpeg' };
      return { from, message: { imageMessage, messageContextInfo } };
    });
    const stanzas = [];
    for (const picture of pictures) stanzas.push(await platform.compose(picture));
    for (const stanza of stanzas) platform.post(stanza);
    await received();
    await until('all are acknowledged', () => platform.unacknowledged === 0);
    expect(host.accepted.map(({ text, media }) => [text, media.length])).toEqual([['one\ntwo', 2]]);
  }),
  'thread in': NO_THREADS,
  'thread out': NO_THREADS,
  'threads of its own': NO_THREADS,
  'reply in': play(async ({ platform, send, received }) => {
    const sent = await send({ text: 'what is it?' });
    const id = platform.seen[0]?.id ?? '';
    const contextInfo = { stanzaId: id, participant: platform.owner.phoneJid, quotedMessage: { conversation: 'what is it?' } };
    await platform.write({ from: platform.person(ADA), message: { extendedTextMessage: { text: 'a cat', contextInfo } } });
    const platformId = sent.kind === 'sent' ? sent.platformId : '';
    expect(await received()).toMatchObject({ text: 'a cat', replyTo: { platformId, text: 'what is it?', fromBot: true } });
  }),
  'reply out': play(async ({ platform, received, send }) => {
    const from = platform.person(ADA);
    platform.group(GROUP, [from]);
    const contextInfo = { mentionedJid: [platform.owner.phoneJid] };
    const text = `@${platform.owner.phone} how?`;
    const id = await platform.write({ from, group: GROUP, message: { extendedTextMessage: { text, contextInfo } } });
    const { chatId, replyContext } = await received();
    expect(await send({ chatId, text: 'so', ...(replyContext && { replyContext }) })).toMatchObject({ kind: 'sent' });
    expect(platform.seen[0]).toMatchObject({ to: GROUP });
    expect(platform.seen[0]?.message.extendedTextMessage).toMatchObject({
      text: 'so',
      contextInfo: { stanzaId: id, participant: from.phoneJid, quotedMessage: { conversation: text } },
    });
  }),
  'earlier messages': 'a linked device is not shown what was written before',
  'reaction in': play(async ({ platform, send, received }) => {
    const sent = await send({ text: 'done' });
    const key = { remoteJid: platform.owner.phoneJid, fromMe: false, id: platform.seen[0]?.id ?? '' };
    await platform.write({ from: platform.person(ADA), message: reaction(key, '👍') });
    const targetId = sent.kind === 'sent' ? sent.platformId : '';
    expect(await received()).toMatchObject({ kind: 'reaction', text: '👍', targetId, senderId: ADA });
  }),
  'reaction out': play(async ({ platform, channel, received, signal }) => {
    const id = await platform.write({ from: platform.person(ADA), message: { conversation: 'hi' } });
    const { platformId } = await received();
    await channel.react?.({ chatId: ADA, platformId }, '👀', signal);
    await channel.react?.({ chatId: ADA, platformId }, undefined, signal);
    const key = { id, fromMe: false, remoteJid: platform.person(ADA).lidJid };
    expect(platform.seen.map(({ message }) => message.reactionMessage)).toMatchObject([
      { text: '👀', key },
      { text: '', key },
    ]);
  }),
  'edit in': play(async ({ platform, received }) => {
    const from = platform.person(ADA);
    const id = await platform.write({ from, message: { conversation: 'tpyo' } });
    const { platformId } = await received();
    const protocolMessage = { key: { id, fromMe: true }, type: 14, editedMessage: { conversation: 'typo' } };
    await platform.write({ from, message: { protocolMessage }, attributes: { edit: '1' } });
    expect(await received(2)).toMatchObject({ kind: 'edit', text: 'typo', targetId: platformId, senderId: ADA });
  }),
  'delete in': play(async ({ platform, received }) => {
    const from = platform.person(ADA);
    const id = await platform.write({ from, message: { conversation: 'oops' } });
    const { platformId } = await received();
    await platform.write({
      from,
      message: { protocolMessage: { key: { id, fromMe: true }, type: 0 } },
      attributes: { edit: '7' },
    });
    expect(await received(2)).toMatchObject({ kind: 'delete', targetId: platformId, senderId: ADA });
  }),
  'edit out': play(async ({ platform, channel, send, signal }) => {
    const sent = await send({ text: 'one' });
    const platformId = sent.kind === 'sent' ? sent.platformId : '';
    const part = outbound({ channel: 'whatsapp', account: channel.account, chatId: ADA, text: '**two**' });
    expect(await channel.edit?.(platformId, part, { plain: false, signal })).toEqual({ kind: 'sent', platformId });
    const [first, second] = platform.seen;
    expect(second?.attrs).toMatchObject({ edit: '1' });
    expect(second?.message.protocolMessage).toMatchObject({
      key: { id: first?.id, fromMe: true },
      type: 14,
      editedMessage: { extendedTextMessage: { text: '*two*' } },
    });
  }),
  typing: play(async ({ platform, channel, signal }) => {
    await channel.typing?.({ chatId: ADA }, signal);
    const state = await until('it shows', () => platform.said.find(({ tag }) => tag === 'chatstate'));
    expect(state).toMatchObject({ attrs: { to: `${ADA}@s.whatsapp.net` }, content: [{ tag: 'composing' }] });
  }),
  buttons: 'WhatsApp shows buttons of business accounts only, so choices are listed in the text',
  'command in': play(async ({ platform, received }) => {
    const from = platform.person(ADA);
    platform.group(GROUP, [from]);
    const contextInfo = { mentionedJid: [platform.owner.phoneJid] };
    const text = `@${platform.owner.phone} /new please`;
    await platform.write({ from, group: GROUP, message: { extendedTextMessage: { text, contextInfo } } });
    expect(await received()).toMatchObject({ text: '/new please', mentionsBot: true });
  }),
  'select menu': 'WhatsApp shows lists of business accounts only, so choices are listed in the text',
  'command answers for one person': 'a message in a group is shown to all of its members',
  'assistant pane': 'the pane is a feature of Slack',
  shortcuts: 'accounts add nothing to the menu of a message',
  'mention in a group': play(async ({ platform, received, host }) => {
    const from = platform.person(ADA);
    platform.group(GROUP, [from], 'lid');
    await platform.write({ from, group: GROUP, by: 'lid', message: { conversation: 'not for you' } });
    const contextInfo = { mentionedJid: [platform.owner.lidJid] };
    const text = `@${platform.owner.lid} what time is it?`;
    await platform.write({ from, group: GROUP, by: 'lid', message: { extendedTextMessage: { text, contextInfo } } });
    await received(2);
    expect(host.accepted).toMatchObject([
      { text: 'not for you', mentionsBot: false, isGroup: true, chatId: GROUP, senderId: ADA },
      { text: 'what time is it?', mentionsBot: true, isGroup: true, chatId: GROUP, senderId: ADA },
    ]);
  }),
  'catch-up after a disconnect': play(async ({ platform, host, received }) => {
    platform.cut();
    await platform.write({ from: platform.person(ADA), message: { conversation: 'while away' } });
    expect(await received()).toMatchObject({ text: 'while away' });
    await until('it is acknowledged', () => platform.unacknowledged === 0);
    expect(host.accepted).toHaveLength(1);
  }),
  'second key': play(async ({ platform, received, restart }) => {
    // One message under both addresses of its sender: number first, LID first.
    const from = platform.person(ADA);
    await platform.write({ from, id: 'M1', message: { conversation: 'once' } });
    const first = await received();
    const again = new TestHost();
    await restart(again);
    await platform.write({ from, id: 'M1', by: 'lid', message: { conversation: 'once' } });
    expect((await until('it came again', () => again.accepted[0])).id).toBe(first.id);
  }),
  'proof of a send': play(async ({ platform, send, restart }) => {
    platform.faults.push({ kind: 'cut' });
    expect(await send({ text: 'only once' })).toMatchObject({ kind: 'unknown' });
    await restart();
    expect(await send({ text: 'only once' })).toMatchObject({ kind: 'sent' });
    // Sent twice, with one id, which apps show once.
    expect(platform.wire.map(({ attrs }) => attrs['id'])).toEqual([platform.seen[0]?.id, platform.seen[0]?.id]);
    expect(platform.seen.map(({ message }) => wordsOf(message))).toEqual(['only once']);
  }),
};
