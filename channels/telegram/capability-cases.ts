/** What people can do on Telegram, played against a Bot API server. For tests. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Channel } from '../../src/core/channel.ts';
import type { InboundMessage, MediaKind, OutboundPart } from '../../src/core/message.ts';
import { startTelegramServer } from '../../src/simulator/telegram/server.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { outbound, tempDir, until } from '../../src/testing/fakes.ts';
import type { CapabilityCases } from '../capabilities.ts';
import { channel as descriptor } from './index.ts';

async function scene() {
  const server = await startTelegramServer();
  const settings = descriptor.settings.parse({ api_root: server.url, poll_timeout_secs: 1, rate_limits: false });
  const channel: Channel = await descriptor.create(settings, channelDeps({ name: 'telegram', secret: () => server.token }));
  const host = new TestHost();
  const abort = new AbortController();
  await channel.start(host, abort.signal);
  const { signal } = new AbortController();
  return {
    server,
    channel,
    host,
    signal,
    received: (): Promise<InboundMessage> => until('a message arrived', () => host.accepted.at(-1)),
    send: (part: Partial<OutboundPart>) =>
      channel.send(outbound({ channel: 'telegram', account: channel.account, chatId: '1000', ...part }), {
        plain: false,
        signal,
      }),
    async [Symbol.asyncDispose]() {
      abort.abort(new Error('over'));
      await channel.stop();
      await server.close();
    },
  };
}

type Scene = Awaited<ReturnType<typeof scene>>;

const play = (run: (at: Scene) => Promise<void>) => async (): Promise<void> => {
  await using at = await scene();
  await run(at);
};

const FILES = {
  photo: { field: 'photo', mime: 'image/jpeg', name: 'p.jpg', method: 'sendPhoto' },
  voice: { field: 'voice', mime: 'audio/ogg', name: 'v.ogg', method: 'sendVoice' },
  audio: { field: 'audio', mime: 'audio/mpeg', name: 'a.mp3', method: 'sendAudio' },
  document: { field: 'document', mime: 'text/plain', name: 'd.txt', method: 'sendDocument' },
} as const;

function fileIn(kind: keyof typeof FILES) {
  return play(async ({ server, channel, received, signal }) => {
    const bytes = Buffer.from(`the bytes of a ${kind}`);
    server.addFile('file-1', bytes);
    const { field, mime } = FILES[kind];
    const file = { file_id: 'file-1', file_unique_id: 'u', mime_type: mime, duration: 1, width: 1, height: 1 };
    server.inject({ caption: 'look', [field]: kind === 'photo' ? [file] : file });
    const { media, text } = await received();
    expect([text, media.map((ref) => ref.kind)]).toEqual(['look', [kind]]);
    const [ref] = media;
    if (!ref) throw new Error('no file');
    const parts: Uint8Array[] = [];
    for await (const part of (await channel.download?.(ref, signal))?.bytes ?? []) parts.push(part);
    expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  });
}

function fileOut(kind: keyof typeof FILES) {
  return play(async ({ server, send }) => {
    await using dir = await tempDir();
    const { mime, name, method } = FILES[kind];
    const path = join(dir.path, name);
    await writeFile(path, `bytes of a ${kind}`);
    const file = { path, name, mime, kind: kind as MediaKind, bytes: 20 };
    expect(await send({ text: 'here', file })).toMatchObject({ kind: 'sent' });
    expect(server.sends).toMatchObject([{ method, text: 'here', file: { name } }]);
  });
}

export const cases: CapabilityCases = {
  'text in': play(async ({ server, received }) => {
    server.inject({ text: 'hello' });
    expect(await received()).toMatchObject({ kind: 'message', text: 'hello', senderId: '1000' });
  }),
  'text out': play(async ({ server, send }) => {
    expect(await send({ text: '**bold** & more' })).toMatchObject({ kind: 'sent' });
    expect(server.sends).toMatchObject([{ text: 'bold & more', parseMode: 'HTML' }]);
  }),
  'photo in': fileIn('photo'),
  'photo out': fileOut('photo'),
  'voice in': fileIn('voice'),
  'voice out': fileOut('voice'),
  'audio in': fileIn('audio'),
  'audio out': fileOut('audio'),
  'document in': fileIn('document'),
  'document out': fileOut('document'),
  'album in': play(async ({ server, host }) => {
    const picture = (id: string) => ({ media_group_id: 'g', photo: [{ file_id: id, file_unique_id: id, width: 1, height: 1 }] });
    server.inject({ ...picture('a'), caption: 'three pictures' });
    // The rest comes while the adapter already looks at the first.
    await until('the first one was handed out', () => server.calls.filter((call) => call === 'getUpdates').length > 1);
    server.inject(picture('b'));
    server.inject(picture('c'));
    server.inject({ text: 'and a word' });
    await until('both messages arrived', () => host.accepted.length === 2);
    expect(host.accepted).toMatchObject([
      { text: 'three pictures', media: [{ ref: 'a' }, { ref: 'b' }, { ref: 'c' }] },
      { text: 'and a word', media: [] },
    ]);
    expect(host.offered.filter(({ text }) => text === 'three pictures').every(({ media }) => media.length === 3)).toBe(true);
  }),
  'thread in': play(async ({ server, received }) => {
    server.inject({
      chat_id: -1001,
      text: 'in a topic',
      is_topic_message: true,
      message_thread_id: 7,
      chat: { id: -1001, is_forum: true },
    });
    expect(await received()).toMatchObject({ chatId: '-1001', threadId: '7', isGroup: true });
  }),
  'thread out': play(async ({ server, send, received, channel, signal }) => {
    await send({ chatId: '-1001', threadId: '7', text: 'there' });
    expect(server.sends).toMatchObject([{ chatId: '-1001', threadId: '7' }]);
    // What people write to a channel: a topic of its own for each of them.
    const direct_messages_topic = { topic_id: 77, user: { id: 1000 } };
    server.inject({ chat: { id: -1002, is_direct_messages: true }, text: 'hi', direct_messages_topic });
    const { chatId, threadId } = await received();
    if (threadId === undefined) throw new Error('no thread');
    await channel.typing?.({ chatId, threadId }, signal);
    expect(await send({ chatId, threadId, text: 'hello' })).toMatchObject({ kind: 'sent' });
    expect(server.sends[1]).toMatchObject({ chatId: '-1002', threadId: 'dm:77' });
  }),
  'threads of its own': 'not built: a bot can open topics in a group of topics, where it has the right to manage them',
  'reply in': play(async ({ server, received, channel }) => {
    const from = { id: Number(channel.account), is_bot: true, first_name: 'Gatehouse' };
    const quoted = { message_id: 5, date: 1, chat: { id: 1000, type: 'private' }, from, text: 'what we said' };
    server.inject({ text: 'why?', reply_to_message: quoted });
    expect(await received()).toMatchObject({ replyTo: { platformId: '1000:5', text: 'what we said', fromBot: true } });
    const photo = [{ file_id: 'elsewhere', file_unique_id: 'e', width: 1, height: 1 }];
    const origin = { type: 'user', date: 1, sender_user: { id: 2000, is_bot: false, first_name: 'Bob' } };
    server.inject({ text: 'and this?', external_reply: { origin, photo } });
    const replyTo = { text: '[photo]', origin: 'quoted from Bob in another chat' };
    await until('the picture came along', async () => (await received()).media.length === 1);
    expect(await received()).toMatchObject({ text: 'and this?', media: [{ ref: 'elsewhere' }], replyTo });
  }),
  'reply out': play(async ({ server, send }) => {
    await send({ chatId: '-1001', text: 'yes', replyContext: { messageId: 9 } });
    expect(server.sends).toMatchObject([{ replyTo: 9 }]);
  }),
  'earlier messages': 'bots are not shown what was written before they were asked',
  'reaction in': play(async ({ server, received }) => {
    const user = { id: 1000, is_bot: false, first_name: 'Ada' };
    const change = { message_id: 5, chat: { id: 1000, type: 'private' }, user, date: 1_735_689_600, old_reaction: [] };
    server.injectUpdate({ message_reaction: { ...change, new_reaction: [{ type: 'emoji', emoji: '👍' }] } });
    expect(await received()).toMatchObject({ kind: 'reaction', targetId: '1000:5', text: '👍', senderId: '1000' });
    server.injectUpdate({ message_reaction: { ...change, date: 1_735_689_601, new_reaction: [] } });
    await until('taking it back arrived', async () => (await received()).text === '');
  }),
  'reaction out': play(async ({ server, channel, signal }) => {
    await channel.react?.({ chatId: '1000', platformId: '1000:5' }, '👀', signal);
    expect(server.lastCall.get('setMessageReaction')).toMatchObject({
      message_id: 5,
      reaction: [{ type: 'emoji', emoji: '👀' }],
    });
    // As the platform spells it in its list of reactions.
    await channel.react?.({ chatId: '1000', platformId: '1000:5' }, '❤\uFE0F', signal);
    expect(server.lastCall.get('setMessageReaction')).toMatchObject({ reaction: [{ emoji: '❤' }] });
    await channel.react?.({ chatId: '1000', platformId: '1000:5' }, undefined, signal);
    expect(server.lastCall.get('setMessageReaction')).toMatchObject({ reaction: [] });
  }),
  'edit in': play(async ({ server, received }) => {
    server.inject({ message_id: 5, edit_date: 1_735_689_600, text: 'better' }, 'edited_message');
    expect(await received()).toMatchObject({ kind: 'edit', targetId: '1000:5', text: 'better' });
  }),
  'delete in': 'the Bot API does not tell bots about deleted messages',
  'edit out': play(async ({ server, channel, send, signal }) => {
    const sent = await send({ text: 'first words' });
    if (sent.kind !== 'sent') throw new Error('not sent');
    const part = outbound({ channel: 'telegram', account: channel.account, chatId: '1000', text: '**final** words' });
    const edited = { kind: 'sent', platformId: sent.platformId };
    expect(await channel.edit?.(sent.platformId, part, { plain: false, signal })).toEqual(edited);
    expect(server.sends.map(({ text }) => text)).toEqual(['final words']);
    // The same again, as after a lost answer.
    expect(await channel.edit?.(sent.platformId, part, { plain: false, signal })).toEqual(edited);
  }),
  typing: play(async ({ server, channel, signal }) => {
    await channel.typing?.({ chatId: '1000' }, signal);
    expect(server.lastCall.get('sendChatAction')).toMatchObject({ action: 'typing' });
  }),
  buttons: play(async ({ server, send, host, received }) => {
    const choices = [
      { label: 'Yes, do it', value: 'yes' },
      { label: 'No', value: 'no' },
    ];
    await send({ text: 'Shall I?', choices });
    const keyboard = { inline_keyboard: [[{ text: 'Yes, do it', callback_data: 'yes' }], [{ text: 'No', callback_data: 'no' }]] };
    expect(server.lastCall.get('sendMessage')).toMatchObject({ reply_markup: keyboard });
    const message = { message_id: 1, date: 1, chat: { id: 1000, type: 'private' }, text: 'Shall I?' };
    const from = { id: 1000, is_bot: false, first_name: 'Ada' };
    server.injectUpdate({ callback_query: { id: 'press-1', from, message, chat_instance: 'c', data: 'yes' } });
    expect(await received()).toMatchObject({ kind: 'message', text: 'yes', replyTo: { platformId: '1000:1', fromBot: true } });
    await until('the press is answered', () => server.calls.includes('answerCallbackQuery'));
    expect(host.accepted).toHaveLength(1);
  }),
  'command in': play(async ({ server, received }) => {
    const text = `/help@${server.username} me`;
    server.inject({ chat_id: -1001, text, entities: [{ type: 'bot_command', offset: 0, length: text.indexOf(' ') }] });
    expect(await received()).toMatchObject({ text: '/help me', mentionsBot: true });
    const named = `/new@${server.username}`;
    server.inject({ text: named, entities: [{ type: 'bot_command', offset: 0, length: named.length }] });
    await until('the command of a private chat arrived', async () => (await received()).text === '/new');
  }),
  'select menu': 'keyboards below a message hold buttons alone',
  'command answers for one person': 'a message in a group is shown to all of its members',
  'assistant pane': 'the pane is a feature of Slack',
  shortcuts: 'bots add nothing to the menu of a message',
  'mention in a group': play(async ({ server, received }) => {
    const text = `@${server.username} hello`;
    server.inject({ chat_id: -1001, text, entities: [{ type: 'mention', offset: 0, length: text.indexOf(' ') }] });
    expect(await received()).toMatchObject({ text: 'hello', isGroup: true, mentionsBot: true });
  }),
  'catch-up after a disconnect': play(async ({ server, host }) => {
    server.fault({ method: 'getUpdates', kind: 'cut', times: 3 });
    for (const text of ['one', 'two']) server.inject({ text });
    await until('both arrived', () => host.accepted.length === 2, 10_000);
    expect(host.accepted.map(({ text }) => text)).toEqual(['one', 'two']);
  }),
  'second key': 'chat and message id are the only ids a message has, and redelivery repeats them',
  'proof of a send': 'the Bot API has no key for a send and cannot be asked whether one arrived',
};
