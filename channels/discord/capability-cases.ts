/** What people can do on Discord, played against the emulator with our proxy in front. For tests. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Channel } from '../../src/core/channel.ts';
import type { InboundMessage, MediaKind, OutboundPart } from '../../src/core/message.ts';
import { backoffClock, startDiscordProxy } from '../../src/simulator/discord/proxy.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { outbound, tempDir, until } from '../../src/testing/fakes.ts';
import type { CapabilityCases } from '../capabilities.ts';
import { channel as descriptor } from './index.ts';

const ADA = '201000000000000001';
const BOB = '202000000000000002';
const DM = '301000000000000001';
const THREAD = '401000000000000001';

async function scene() {
  const proxy = await startDiscordProxy();
  const settings = descriptor.settings.parse({ api_root: proxy.url, cdn_origins: [proxy.origin], slash_commands: false });
  const deps = channelDeps({ name: 'discord', secret: () => proxy.peer.token, clock: backoffClock() });
  const channel: Channel = await descriptor.create(settings, deps);
  const host = new TestHost();
  const abort = new AbortController();
  await channel.start(host, abort.signal);
  const { guildId, channelId } = proxy.peer;
  const group = { guildId, channelId, senderId: ADA, senderName: 'Ada' };
  return {
    proxy,
    channel,
    host,
    signal: new AbortController().signal,
    /** What Ada writes in the server's channel, and in private. */
    group,
    dm: { channelId: DM, senderId: ADA, senderName: 'Ada' },
    received: (count = 1): Promise<InboundMessage> => until(`${count} messages arrived`, () => host.accepted[count - 1]),
    send: (part: Partial<OutboundPart>) =>
      channel.send(outbound({ channel: 'discord', account: channel.account, chatId: channelId, ...part }), {
        plain: false,
        signal: new AbortController().signal,
      }),
    async [Symbol.asyncDispose]() {
      abort.abort(new Error('over'));
      await channel.stop();
      await proxy.close();
    },
  };
}

type Scene = Awaited<ReturnType<typeof scene>>;

const play = (run: (at: Scene) => Promise<void>) => async (): Promise<void> => {
  await using at = await scene();
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

const interaction = (fields: object) => ({
  id: '901000000000000001',
  application_id: '135000000000000001',
  token: 'interaction-token',
  version: 1,
  user: { id: ADA, username: 'ada' },
  channel_id: DM,
  ...fields,
});

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
    proxy.change(id, { content: 'first', edited_timestamp: '2026-01-01T00:00:00.000000+00:00' }, 'MESSAGE_UPDATE');
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
  buttons: play(async ({ proxy, send, host, received, channel }) => {
    const choices = [
      { label: 'Yes, do it', value: 'yes' },
      { label: 'No', value: 'no' },
    ];
    const sent = await send({ text: 'Shall I?', choices });
    if (sent.kind !== 'sent') throw new Error('not sent');
    const components = proxy.sends()[0]?.body['components'] as { components: { label: string; custom_id: string }[] }[];
    expect(components[0]?.components.map(({ label }) => label)).toEqual(['Yes, do it', 'No']);
    const message = { id: sent.platformId, author: { id: channel.account }, content: 'Shall I?' };
    const press = { type: 3, message, data: { custom_id: components[0]?.components[0]?.custom_id, component_type: 2 } };
    proxy.gateway.dispatch('INTERACTION_CREATE', interaction(press));
    expect(await received()).toMatchObject({ kind: 'message', text: 'yes', senderId: ADA, replyTo: { fromBot: true } });
    const callback = 'POST /interactions/901000000000000001/interaction-token/callback';
    await until('the press is acknowledged', () => proxy.calls.some(({ call, body }) => call === callback && body['type'] === 6));
    expect(host.accepted).toHaveLength(1);
  }),
  'command in': play(async ({ proxy, received, send }) => {
    const data = { type: 1, name: 'new', options: [{ type: 3, name: 'args', value: '--keep 0' }] };
    proxy.gateway.dispatch('INTERACTION_CREATE', interaction({ type: 2, data }));
    const message = await received();
    expect(message).toMatchObject({ kind: 'message', text: '/new --keep 0', mentionsBot: true, senderId: ADA });
    const callback = 'POST /interactions/901000000000000001/interaction-token/callback';
    await until('it is deferred', () => proxy.calls.some(({ call, body }) => call === callback && body['type'] === 5));
    const { replyContext } = message;
    const until_ = { ...(replyContext?.['interaction'] as object), until: Date.now() + 60_000 };
    expect(await send({ chatId: DM, text: 'done', replyContext: { interaction: until_ } })).toMatchObject({ kind: 'sent' });
    const original = 'PATCH /webhooks/135000000000000001/interaction-token/messages/@original';
    expect(proxy.sends()).toMatchObject([{ call: original, body: { content: 'done' } }]);
  }),
  'select menu': 'not built: choices are buttons',
  'command answers for one person': 'not built: the platform shows an answer to one person where it was asked by a command',
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
