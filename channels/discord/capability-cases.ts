/** What people can do on Discord, played against the emulator with our proxy in front. For tests. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { InboundMessage, MediaKind, OutboundPart } from '../../src/core/message.ts';
import { COMMAND_MENU } from '../../src/gateway/commands/index.ts';
import { ADA, CALLBACK, DM, discordSetup, ORIGINAL, TOKEN } from '../../src/testing/discord/setup.ts';
import { outbound, tempDir, until } from '../../src/testing/fakes.ts';
import type { CapabilityCases } from '../capabilities.ts';
import { channel as descriptor } from './index.ts';

const BOB = '202000000000000002';
const THREAD = '401000000000000001';

async function scene(settings: object) {
  const at = await discordSetup(descriptor, { settings, deps: { commands: COMMAND_MENU } });
  const { proxy, channel, host, room } = at;
  const { guildId } = proxy.peer;
  return {
    ...at,
    signal: new AbortController().signal,
    /** What Ada writes in the server's channel, and in private. */
    group: { guildId, channelId: room, senderId: ADA, senderName: 'Ada' },
    dm: { channelId: DM, senderId: ADA, senderName: 'Ada' },
    received: (count = 1): Promise<InboundMessage> => until(`${count} messages arrived`, () => host.accepted[count - 1]),
    send: (part: Partial<OutboundPart>) =>
      channel.send(outbound({ channel: 'discord', account: channel.account, chatId: room, ...part }), {
        plain: false,
        signal: new AbortController().signal,
      }),
  };
}

type Scene = Awaited<ReturnType<typeof scene>>;

const play =
  (run: (at: Scene) => Promise<void>, settings: object = {}) =>
  async (): Promise<void> => {
    await using at = await scene(settings);
    await run(at);
  };

const FILES = {
  photo: { mime: 'image/jpeg', name: 'p.jpg' },
  voice: { mime: 'audio/ogg', name: 'voice-message.ogg' },
  audio: { mime: 'audio/mpeg', name: 'a.mp3' },
  document: { mime: 'text/plain', name: 'd.txt' },
} as const;

/** The platform's mark of a message that was spoken. */
const VOICE = 1 << 13;

function fileIn(kind: keyof typeof FILES) {
  return play(async ({ proxy, channel, received, signal, dm }) => {
    const bytes = Buffer.from(`the bytes of a ${kind}`);
    const fields = kind === 'voice' ? { flags: VOICE, content: '' } : {};
    await proxy.write({ ...dm, content: 'look' }, { files: [{ ...FILES[kind], bytes }], fields });
    const { media, text } = await received();
    expect([text, media.map((ref) => ref.kind)]).toEqual([kind === 'voice' ? '' : 'look', [kind]]);
    const [ref] = media;
    if (!ref) throw new Error('no file');
    const parts: Uint8Array[] = [];
    for await (const part of (await channel.download?.(ref, signal))?.bytes ?? []) parts.push(part);
    expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  });
}

function fileOut(kind: keyof typeof FILES) {
  return play(async ({ proxy, send }) => {
    await using dir = await tempDir();
    const { mime, name } = FILES[kind];
    const path = join(dir.path, name);
    await writeFile(path, `bytes of a ${kind}`);
    const file = { path, name, mime, kind: kind as MediaKind, bytes: 20 };
    expect(await send({ text: 'here', file })).toMatchObject({ kind: 'sent' });
    const [sent] = proxy.sends();
    expect(sent?.body).toMatchObject({ content: 'here', attachments: [{ id: 0, filename: name }] });
    expect(sent?.files).toEqual([{ name, mime, bytes: Buffer.from(`bytes of a ${kind}`) }]);
  });
}

/**
 * Asks with so many choices, of which a person takes the last; what the message of the bot offered them by.
 */
const chosen = (count: number, press: (component: ComponentSent) => object) =>
  play(async ({ proxy, send, sent, host, received, channel, interact }) => {
    const choices = Array.from({ length: count }, (_, n) => ({ label: `Choice ${n}`, value: `c${n}` }));
    const platformId = await sent(send({ text: 'Which one?', choices }));
    const rows = proxy.sends()[0]?.body['components'] as { components: ComponentSent[] }[] | undefined;
    const component = rows?.[0]?.components.at(-1);
    if (!component) throw new Error('nothing to choose from');
    const labels = component.options ?? rows?.[0]?.components ?? [];
    expect(labels.map(({ label }) => label)).toEqual(choices.map(({ label }) => label));
    const message = { id: platformId, author: { id: channel.account }, content: 'Which one?' };
    interact({ type: 3, message, data: press(component) });
    const text = `c${count - 1}`;
    expect(await received()).toMatchObject({ kind: 'message', text, senderId: ADA, replyTo: { platformId, fromBot: true } });
    await until('it is acknowledged', () => proxy.calls.some(({ call, body }) => CALLBACK.test(call) && body['type'] === 6));
    expect(host.accepted).toHaveLength(1);
  });

interface ComponentSent {
  readonly label?: string;
  readonly custom_id: string;
  readonly options?: readonly { readonly label: string; readonly value: string }[];
}

export const cases: CapabilityCases = {
  'text in': play(async ({ proxy, received, dm }) => {
    await proxy.write({ ...dm, content: 'hello' });
    expect(await received()).toMatchObject({ kind: 'message', text: 'hello', senderId: ADA, chatId: DM, isGroup: false });
  }),
  'text out': play(async ({ proxy, send }) => {
    expect(await send({ text: '**bold** & `more`' })).toMatchObject({ kind: 'sent' });
    expect(proxy.sends().map(({ body }) => body['content'])).toEqual(['**bold** & `more`']);
  }),
  'photo in': fileIn('photo'),
  'photo out': fileOut('photo'),
  'voice in': fileIn('voice'),
  'voice out': fileOut('voice'),
  'audio in': fileIn('audio'),
  'audio out': fileOut('audio'),
  'document in': fileIn('document'),
  'document out': fileOut('document'),
  'album in': play(async ({ proxy, received, dm }) => {
    const files = ['a', 'b', 'c'].map((name) => ({ name: `${name}.png`, mime: 'image/png', bytes: Buffer.from(name) }));
    await proxy.write({ ...dm, content: 'three pictures' }, { files });
    const { media, text } = await received();
    expect(text).toBe('three pictures');
    expect(media).toMatchObject([{ name: 'a.png' }, { name: 'b.png' }, { name: 'c.png' }]);
  }),
  'thread in': play(async ({ proxy, received, group, send }) => {
    await proxy.write({ ...group, channelId: THREAD, parentChannelId: group.channelId, content: 'in a thread' });
    expect(await received()).toMatchObject({ chatId: group.channelId, threadId: THREAD, isGroup: true, text: 'in a thread' });
    // Once the agent wrote there, it need not be named.
    await send({ chatId: group.channelId, threadId: THREAD, text: 'an answer' });
    await proxy.write({ ...group, channelId: THREAD, content: 'and then?' });
    expect(await received(2)).toMatchObject({ threadId: THREAD, text: 'and then?', mentionsBot: true });
  }),
  'thread out': play(async ({ proxy, send, group, received }) => {
    await proxy.write({ ...group, channelId: THREAD, parentChannelId: group.channelId, content: 'in a thread' });
    await received();
    expect(await send({ chatId: group.channelId, threadId: THREAD, text: 'there' })).toMatchObject({ kind: 'sent' });
    expect(proxy.sends().map(({ call }) => call)).toEqual([`POST /channels/${THREAD}/messages`]);
  }),
  'threads of its own': play(
    async ({ proxy, say, sent, channel, partOf, signal, room }) => {
      const question = await say('what about the cats?');
      expect(question).toMatchObject({ chatId: room, threadId: question.platformId, startsThread: true });
      await sent(channel.send(partOf(question), { plain: false, signal }));
      const made = proxy.calls.find(({ call }) => call === `POST /channels/${room}/messages/${question.platformId}/threads`);
      expect(made).toMatchObject({ accepted: true, body: { name: 'what about the cats?' } });
      expect(proxy.sends().map(({ call }) => call)).toEqual([`POST /channels/${question.platformId}/messages`]);
    },
    { auto_threads: true },
  ),
  'reply in': play(async ({ proxy, send, received, group, channel, signal }) => {
    const ours = await send({ text: 'what we said' });
    if (ours.kind !== 'sent') throw new Error('not sent');
    await proxy.write({ ...group, content: 'why?', message_reference: { message_id: ours.platformId } });
    expect(await received()).toMatchObject({
      text: 'why?',
      replyTo: { platformId: ours.platformId, text: 'what we said', fromBot: true },
    });
    const bytes = Buffer.from('a picture');
    const bob = { ...group, senderId: BOB, senderName: 'Bob' };
    const theirs = await proxy.write({ ...bob, content: 'look' }, { files: [{ name: 'cat.png', mime: 'image/png', bytes }] });
    await received(2);
    const question = { content: `<@${channel.account}> what is this?`, message_reference: { message_id: theirs } };
    await proxy.write({ ...group, ...question });
    const { media, replyTo } = await received(3);
    expect(media).toHaveLength(1);
    expect(replyTo).toMatchObject({ text: '[photo]\nlook', origin: 'written by Bob, not by the sender' });
    const [ref] = media;
    if (!ref) throw new Error('no file');
    const parts: Uint8Array[] = [];
    for await (const part of (await channel.download?.(ref, signal))?.bytes ?? []) parts.push(part);
    expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  }),
  'reply out': play(async ({ proxy, send, received, group }) => {
    const id = await proxy.write({ ...group, content: 'a question' });
    const { replyContext } = await received();
    await send({ text: 'yes', ...(replyContext && { replyContext }) });
    expect(proxy.sends()[0]?.body).toMatchObject({ message_reference: { message_id: id, fail_if_not_exists: false } });
  }),
  'earlier messages': play(async ({ proxy, channel, signal, group, received }) => {
    await proxy.write({ ...group, content: 'lunch at one?' });
    await proxy.write({ ...group, content: 'where?' });
    const call = await received(2);
    const found = await channel.earlier?.(call, 30, signal);
    expect(found).toMatchObject([{ text: 'lunch at one?', fromBot: false }]);
  }),
  'reaction in': play(async ({ proxy, received, group }) => {
    const target = await proxy.write({ ...group, content: 'a message' });
    await received();
    const reaction = { user_id: ADA, channel_id: group.channelId, guild_id: group.guildId, message_id: target };
    proxy.gateway.dispatch('MESSAGE_REACTION_ADD', { ...reaction, emoji: { id: null, name: '👍' } });
    expect(await received(2)).toMatchObject({ kind: 'reaction', targetId: target, text: '👍', senderId: ADA });
    proxy.gateway.dispatch('MESSAGE_REACTION_REMOVE', { ...reaction, emoji: { id: null, name: '👍' } });
    expect(await received(3)).toMatchObject({ kind: 'reaction', targetId: target, text: '' });
    // Those of private chats tell an id alone.
    proxy.gateway.dispatch('MESSAGE_REACTION_ADD', { user_id: ADA, channel_id: DM, message_id: target, emoji: { name: '👍' } });
    expect(await received(4)).toMatchObject({ kind: 'reaction', chatId: DM, senderName: 'Ada' });
  }),
  'reaction out': play(async ({ proxy, channel, signal, group, received }) => {
    const target = await proxy.write({ ...group, content: 'a message' });
    await received();
    await channel.react?.({ chatId: group.channelId, platformId: target }, '👀', signal);
    await channel.react?.({ chatId: group.channelId, platformId: target }, undefined, signal);
    const reactions = proxy.calls.filter(({ call }) => call.includes('/reactions/'));
    const route = `/channels/${group.channelId}/messages/${target}/reactions/${encodeURIComponent('👀')}/@me`;
    expect(reactions).toMatchObject([
      { call: `PUT ${route}`, accepted: true },
      { call: `DELETE ${route}`, accepted: true },
    ]);
  }),
  'edit in': play(async ({ proxy, received, dm }) => {
    const id = await proxy.write({ ...dm, content: 'frist' });
    await received();
    proxy.change(id, { content: 'first', edited_timestamp: new Date().toISOString() }, 'MESSAGE_UPDATE');
    expect(await received(2)).toMatchObject({ kind: 'edit', targetId: id, text: 'first', senderId: ADA });
  }),
  'delete in': play(async ({ proxy, received, dm, group }) => {
    const id = await proxy.write({ ...dm, content: 'never mind' });
    await received();
    proxy.gateway.dispatch('MESSAGE_DELETE', { id, channel_id: DM });
    expect(await received(2)).toMatchObject({ kind: 'delete', targetId: id, chatId: DM });
    const ids = ['501000000000000001', '501000000000000002'];
    proxy.gateway.dispatch('MESSAGE_DELETE_BULK', { ids, channel_id: group.channelId, guild_id: group.guildId });
    await received(4);
  }),
  'edit out': play(async ({ proxy, channel, send, signal, group }) => {
    const sent = await send({ text: 'first words' });
    if (sent.kind !== 'sent') throw new Error('not sent');
    const part = outbound({ channel: 'discord', account: channel.account, chatId: group.channelId, text: '**final** words' });
    const edited = { kind: 'sent', platformId: sent.platformId };
    expect(await channel.edit?.(sent.platformId, part, { plain: false, signal })).toEqual(edited);
    // The same again, as after a lost answer.
    expect(await channel.edit?.(sent.platformId, part, { plain: false, signal })).toEqual(edited);
    const call = `PATCH /channels/${group.channelId}/messages/${sent.platformId}`;
    const edits = proxy.calls.filter((one) => one.call === call);
    expect(edits.map(({ body }) => body['content'])).toEqual(['**final** words', '**final** words']);
  }),
  typing: play(async ({ proxy, channel, signal, group }) => {
    await channel.typing?.({ chatId: group.channelId }, signal);
    // The adapter may look for missed messages at the same time.
    const call = { call: `POST /channels/${group.channelId}/typing`, accepted: true };
    expect(proxy.calls).toContainEqual(expect.objectContaining(call));
  }),
  buttons: chosen(2, ({ custom_id }) => ({ custom_id, component_type: 2 })),
  'select menu': chosen(10, ({ custom_id, options = [] }) => ({
    ...{ custom_id, component_type: 3 },
    values: options.slice(-1).map(({ value }) => value),
  })),
  'command in': play(async ({ proxy, received, sent, channel, partOf, signal, interact }) => {
    interact({ type: 2, data: { type: 1, name: 'new', options: [{ type: 3, name: 'args', value: '--keep 0' }] } });
    const message = await received();
    expect(message).toMatchObject({ kind: 'message', text: '/new --keep 0', mentionsBot: true, senderId: ADA });
    await sent(channel.send(partOf(message, { text: 'done' }), { plain: false, signal }));
    expect(proxy.sends()).toMatchObject([{ call: ORIGINAL, body: { content: 'done' } }]);
    expect(proxy.interactions.shown(TOKEN)).toEqual({ isEphemeral: false, content: 'done' });
  }),
  'command answers for one person': play(async ({ proxy, say, received, sent, channel, partOf, signal, interact }) => {
    await say('hello');
    interact({ type: 2, data: { type: 1, name: 'help' } });
    await sent(channel.send(partOf(await received(2)), { plain: false, signal }));
    expect(proxy.interactions.shown(TOKEN)).toEqual({ isEphemeral: true, content: 'the answer' });
  }),
  'assistant pane': 'the pane is a feature of Slack',
  shortcuts: 'not built: the platform lets apps add commands to the menu of a message',
  'mention in a group': play(async ({ proxy, received, group, channel }) => {
    await proxy.write({ ...group, content: `<@${channel.account}> hello <@${ADA}>` });
    expect(await received()).toMatchObject({ text: `hello @user-${ADA.slice(-6)}`, isGroup: true, mentionsBot: true });
  }),
  'catch-up after a disconnect': play(async ({ proxy, received, host, group, dm }) => {
    await proxy.write({ ...dm, content: 'before' });
    await received();
    // No session to go on with: what was written meanwhile is told by the history alone.
    proxy.gateway.forgetSessions();
    proxy.gateway.kick(4_000);
    await until('the connection is gone', () => proxy.gateway.connections === 0);
    await proxy.write({ ...dm, content: 'missed in private' });
    await proxy.write({ ...group, content: 'missed in the server' });
    await received(3);
    const texts = host.accepted.map(({ text }) => text).sort();
    expect(texts).toEqual(['before', 'missed in private', 'missed in the server']);
  }),
  'second key': 'a message has one id, which the gateway, its replay and the history all repeat',
  'proof of a send': play(async ({ proxy, send }) => {
    // The same key again, as after a crash: the platform answers with the message it has.
    const first = await send({ text: 'once', key: 'one-key' });
    expect(await send({ text: 'once', key: 'one-key' })).toEqual(first);
    const [one, two] = proxy.sends();
    expect(one?.body).toMatchObject({ enforce_nonce: true });
    expect(two?.body['nonce']).toBe(one?.body['nonce']);
    const shown = (await proxy.peer.calls()).filter(({ method, path }) => method === 'POST' && path.endsWith('/messages'));
    expect(shown).toHaveLength(1);
  }),
};
