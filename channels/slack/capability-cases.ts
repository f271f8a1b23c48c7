/** Each capability against the test workspace, with a fresh adapter over a socket. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Channel } from '../../src/core/channel.ts';
import type { InboundMessage, MediaKind, OutboundFile, OutboundPart } from '../../src/core/message.ts';
import { openPane } from '../../src/simulator/slack/assistant-pane.ts';
import type { SlackServer } from '../../src/simulator/slack/server.ts';
import { BOT_USER, DIRECT, type Json, PERSON, type StoredFile } from '../../src/simulator/slack/workspace.ts';
import type { TestHost } from '../../src/testing/channel-host.ts';
import { outbound, tempDir, until } from '../../src/testing/fakes.ts';
import { slackSetup } from '../../src/testing/slack/setup.ts';
import type { CapabilityCases } from '../capabilities.ts';
import { channel as descriptor } from './index.ts';

interface Scene {
  readonly server: SlackServer;
  readonly channel: Channel;
  readonly host: TestHost;
  readonly signal: AbortSignal;
  /** Sends a part and expects it to arrive; its platform id. */
  send(part: Partial<OutboundPart>): Promise<string>;
  /** The next message that is accepted after `act`. */
  arrives(act: () => unknown): Promise<InboundMessage>;
}

const CHANNEL = 'C0TEST';

function scene(play: (at: Scene) => Promise<void>, settings: Readonly<Record<string, unknown>> = {}): () => Promise<void> {
  return async () => {
    await using at = await slackSetup(descriptor, { settings });
    const { channel, host } = await at.start();
    const { signal } = new AbortController();
    await play({
      ...{ server: at.server, channel, host, signal },
      async send(part) {
        const result = await channel.send(outbound({ channel: 'slack', chatId: DIRECT, ...part }), { plain: false, signal });
        if (result.kind !== 'sent') throw new Error(`not sent: ${JSON.stringify(result)}`);
        return result.platformId;
      },
      async arrives(act) {
        const before = host.accepted.length;
        act();
        return await until('it arrived', () => host.accepted[before]);
      },
    });
  };
}

function fileIn(kind: MediaKind, mime: string, subtype?: string): () => Promise<void> {
  return scene(async ({ server, channel, arrives, signal }) => {
    const file: StoredFile = server.file({ name: `a.${kind}`, mime, bytes: Buffer.from(`bytes of ${kind}`) });
    const description = { ...server.workspace.fileObject(file, server.origin), ...(subtype !== undefined && { subtype }) };
    const message = await arrives(() => {
      const stored = server.store({ text: 'look', files: [file] });
      server.event({ ...stored, files: [description], event_ts: stored.ts });
    });
    expect(message).toMatchObject({ text: 'look', media: [{ kind, mime, name: `a.${kind}` }] });
    const [media] = message.media;
    const found = media && (await channel.download?.(media, signal));
    const parts: Uint8Array[] = [];
    for await (const part of found?.bytes ?? []) parts.push(part);
    expect(Buffer.concat(parts).toString()).toBe(`bytes of ${kind}`);
  });
}

function fileOut(kind: MediaKind, mime: string): () => Promise<void> {
  return scene(async ({ server, send }) => {
    await using dir = await tempDir();
    const path = join(dir.path, 'copy');
    await writeFile(path, `bytes of ${kind}`);
    const file: OutboundFile = { path, name: `b.${kind}`, mime, kind, bytes: 9 + kind.length };
    await send({ text: 'here', file });
    expect(server.sends).toMatchObject([{ text: 'here', fileName: `b.${kind}` }]);
    expect(server.sends[0]?.fileBytes?.toString()).toBe(`bytes of ${kind}`);
  });
}

function withContext({ replyContext }: InboundMessage): Pick<OutboundPart, 'replyContext'> {
  return replyContext ? { replyContext } : {};
}

function paneScene(): () => Promise<void> {
  const prompts = [{ title: 'Plan', message: 'Plan my week' }];
  return scene(
    async ({ server, arrives, channel, signal }) => {
      const root = openPane(server);
      const thread = `${DIRECT}:${root.ts}`;
      await until('the prompts are shown', () => server.workspace.prompts.get(thread));
      expect(server.workspace.prompts.get(thread)).toEqual(prompts);
      const message = await arrives(() => server.say({ text: 'Plan my week', thread_ts: root.ts }));
      expect(message).toMatchObject({ threadId: root.ts, text: 'Plan my week' });
      await channel.typing?.({ chatId: DIRECT, threadId: root.ts }, signal);
      const part = outbound({ channel: 'slack', chatId: DIRECT, threadId: root.ts, text: 'Monday', ...withContext(message) });
      expect(await channel.send(part, { plain: false, signal })).toMatchObject({ kind: 'sent' });
      await until('the thread has a title', () => server.workspace.titles.get(thread) === 'Plan my week');
    },
    { suggested_prompts: prompts },
  );
}

export const cases: CapabilityCases = {
  'text in': scene(async ({ server, arrives }) => {
    expect(await arrives(() => server.say({ text: 'a &lt; b' }))).toMatchObject({
      text: 'a < b',
      senderId: PERSON,
      chatId: DIRECT,
    });
  }),
  'text out': scene(async ({ server, send }) => {
    await send({ text: '**bold** & `code`' });
    expect(server.sends[0]?.raw).toBe('*bold* &amp; `code`');
  }),
  'photo in': fileIn('photo', 'image/png'),
  'photo out': fileOut('photo', 'image/png'),
  'voice in': fileIn('voice', 'audio/mp4', 'slack_audio'),
  'voice out': fileOut('voice', 'audio/ogg'),
  'audio in': fileIn('audio', 'audio/mpeg'),
  'audio out': fileOut('audio', 'audio/mpeg'),
  'document in': fileIn('document', 'application/pdf'),
  'document out': fileOut('document', 'application/pdf'),
  'album in': scene(async ({ server, arrives }) => {
    const files = ['1.png', '2.png', '3.png'].map((name) => server.file({ name, mime: 'image/png', bytes: Buffer.from(name) }));
    const message = await arrives(() => server.say({ text: 'three', files }));
    expect(message.media.map(({ name }) => name)).toEqual(['1.png', '2.png', '3.png']);
  }),
  'thread in': scene(async ({ server, arrives }) => {
    const parent = server.store({ channel: CHANNEL, text: 'first' });
    expect(await arrives(() => server.say({ channel: CHANNEL, text: 'second', thread_ts: parent.ts }))).toMatchObject({
      threadId: parent.ts,
    });
  }),
  'thread out': scene(async ({ server, send }) => {
    const parent = server.store({ channel: CHANNEL });
    await send({ chatId: CHANNEL, threadId: parent.ts });
    expect(server.sends[0]?.threadTs).toBe(parent.ts);
  }),
  'threads of its own': scene(async ({ server, arrives, send }) => {
    const { threadId, chatId, ...message } = await arrives(() => server.say({ channel: CHANNEL, text: 'a question' }));
    expect(message).toMatchObject({ startsThread: true });
    await send({ chatId, ...(threadId !== undefined && { threadId }) });
    expect(`${CHANNEL}:${server.sends[0]?.threadTs}`).toBe(message.platformId);
  }),
  // A reply is a message in the thread of another one.
  'reply in': scene(async ({ server, arrives, send }) => {
    const platformId = await send({ text: 'a question' });
    const ts = platformId.slice(DIRECT.length + 1);
    const message = await arrives(() => server.say({ text: 'an answer', thread_ts: ts, parent_user_id: BOT_USER }));
    expect(message.replyTo).toMatchObject({ platformId, fromBot: true });
  }),
  'reply out': scene(async ({ server, arrives, send }) => {
    const message = await arrives(() => server.say({ channel: CHANNEL, text: `<@${BOT_USER}> well?` }));
    const { chatId, threadId, replyContext } = message;
    await send({ chatId, ...(threadId !== undefined && { threadId }), ...(replyContext && { replyContext }) });
    expect(`${CHANNEL}:${server.sends[0]?.threadTs}`).toBe(message.platformId);
  }),
  'earlier messages': scene(async ({ server, channel, signal, arrives }) => {
    server.store({ channel: 'C0TEST', text: 'lunch at one?' });
    const call = await arrives(() => server.say({ channel: 'C0TEST', text: `<@${BOT_USER}> where?` }));
    const found = await channel.earlier?.(call, 30, signal);
    expect(found).toMatchObject([{ text: 'lunch at one?', senderId: PERSON, fromBot: false }]);
  }),
  'reaction in': scene(async ({ server, arrives, send }) => {
    const platformId = await send({});
    const item = { type: 'message', channel: DIRECT, ts: platformId.split(':')[1] };
    const event = { user: PERSON, reaction: '+1', item, item_user: BOT_USER };
    const added = await arrives(() => server.event({ type: 'reaction_added', ...event, event_ts: server.workspace.nextTs() }));
    expect(added).toMatchObject({ kind: 'reaction', text: '👍', targetId: platformId, senderId: PERSON });
    const removed = await arrives(() =>
      server.event({ type: 'reaction_removed', ...event, event_ts: server.workspace.nextTs() }),
    );
    expect(removed).toMatchObject({ kind: 'reaction', text: '', targetId: platformId });
  }),
  'reaction out': scene(async ({ server, channel, signal }) => {
    const platformId = `${DIRECT}:${server.store().ts}`;
    await channel.react?.({ chatId: DIRECT, platformId }, '👍', signal);
    expect([...(server.workspace.reactions.get(platformId)?.keys() ?? [])]).toEqual(['+1']);
    await channel.react?.({ chatId: DIRECT, platformId }, undefined, signal);
    expect(server.workspace.reactions.get(platformId)?.size).toBe(0);
  }),
  'edit in': scene(async ({ server, arrives }) => {
    const first = await arrives(() => server.say({ text: 'one' }));
    const previous = server.workspace.messages.at(-1);
    const message = { ...previous, text: 'two', edited: { user: PERSON, ts: server.workspace.nextTs() } };
    const event = { type: 'message', subtype: 'message_changed', hidden: true, channel: DIRECT, ts: server.workspace.nextTs() };
    const edit = await arrives(() => server.event({ ...event, message, previous_message: previous }));
    expect(edit).toMatchObject({ kind: 'edit', targetId: first.platformId, text: 'two', senderId: PERSON });
  }),
  'delete in': scene(async ({ server, arrives }) => {
    const first = await arrives(() => server.say({ text: 'one' }));
    const previous = server.workspace.messages.at(-1);
    const event = { type: 'message', subtype: 'message_deleted', hidden: true, channel: DIRECT, ts: server.workspace.nextTs() };
    const deleted = await arrives(() => server.event({ ...event, deleted_ts: previous?.ts, previous_message: previous }));
    expect(deleted).toMatchObject({ kind: 'delete', targetId: first.platformId, senderId: PERSON });
  }),
  'edit out': scene(async ({ server, channel, send, signal }) => {
    const platformId = await send({ text: 'one' });
    const part = outbound({ channel: 'slack', chatId: DIRECT, text: '*two*' });
    expect(await channel.edit?.(platformId, part, { plain: false, signal })).toEqual({ kind: 'sent', platformId });
    expect(server.workspace.messages.map(({ text }) => text)).toEqual(['_two_']);
  }),
  typing: scene(async ({ server, channel, signal }) => {
    await channel.typing?.({ chatId: CHANNEL, threadId: '1.000001' }, signal);
    // The adapter may look for missed messages at the same time.
    const call = { method: 'assistant.threads.setStatus', args: expect.objectContaining({ channel_id: CHANNEL }) };
    expect(server.calls).toContainEqual(expect.objectContaining(call));
  }),
  buttons: scene(async ({ server, channel, arrives, send }) => {
    expect(channel.buttons).toBe(true);
    const platformId = await send({ text: 'Sure?', choices: [{ label: 'Yes', value: 'yes' }] });
    const [message] = server.workspace.messages;
    const blocks = message?.['blocks'] as readonly { type: string; elements?: readonly object[] }[];
    const [button] = blocks.find(({ type }) => type === 'actions')?.elements ?? [];
    const pressed = await arrives(() =>
      server.sockets.deliver('interactive', {
        ...{ type: 'block_actions', user: { id: PERSON, username: 'ada', team_id: 'T0TEST' }, channel: { id: DIRECT }, message },
        actions: [{ ...button, block_id: 'x', action_ts: server.workspace.nextTs() }],
      }),
    );
    expect(pressed).toMatchObject({ kind: 'message', text: 'yes', senderId: PERSON, replyTo: { platformId, fromBot: true } });
  }),
  'select menu': scene(async ({ server, arrives, send }) => {
    const choices = ['one', 'two', 'three', 'four', 'five', 'six'].map((word) => ({ label: word, value: `say ${word}` }));
    const platformId = await send({ text: 'Which?', choices });
    const [message] = server.workspace.messages;
    const blocks = message?.['blocks'] as readonly { type: string; elements?: readonly Json[] }[];
    const [menu] = blocks.find(({ type }) => type === 'actions')?.elements ?? [];
    const options = menu?.['options'] as readonly Json[];
    expect(menu).toMatchObject({ type: 'static_select' });
    expect(options).toHaveLength(6);
    const action = { type: 'static_select', action_id: menu?.['action_id'], block_id: 'x', selected_option: options[3] };
    const chosen = await arrives(() =>
      server.sockets.deliver('interactive', {
        ...{ type: 'block_actions', user: { id: PERSON, username: 'ada', team_id: 'T0TEST' }, channel: { id: DIRECT }, message },
        actions: [{ ...action, action_ts: server.workspace.nextTs() }],
      }),
    );
    expect(chosen).toMatchObject({ kind: 'message', text: 'say four', senderId: PERSON, replyTo: { platformId, fromBot: true } });
  }),
  'command answers for one person': scene(async ({ server, arrives, channel, signal }) => {
    server.workspace.conversations.set(CHANNEL, 'public_channel');
    const place = { user_id: PERSON, team_id: 'T0TEST', channel_id: CHANNEL, trigger_id: '1.2.3' };
    const asked = await arrives(() => server.sockets.deliver('slash_commands', { command: '/help', text: '', ...place }));
    const part = outbound({ channel: 'slack', chatId: CHANNEL, text: 'All of it', ...withContext(asked) });
    expect(await channel.send(part, { plain: false, signal })).toMatchObject({ kind: 'sent' });
    expect(server.workspace.ephemerals).toMatchObject([{ channel: CHANNEL, user: PERSON, text: 'All of it', isShown: true }]);
    expect(server.workspace.messages).toEqual([]);
  }),
  'assistant pane': paneScene(),
  shortcuts: scene(async ({ server, arrives }) => {
    // In no history: the catch-up that follows a start could bring it as a message of its own.
    const message = { type: 'message', ts: server.workspace.nextTs(), user: 'U0BOB', text: 'the plan' };
    const pressed = { user: { id: PERSON, name: 'ada' }, team: { id: 'T0TEST' }, action_ts: server.workspace.nextTs() };
    const about = { type: 'message_action', callback_id: 'ask', trigger_id: '1.2.3', channel: { id: CHANNEL }, message };
    expect(await arrives(() => server.sockets.deliver('interactive', { ...about, ...pressed }))).toMatchObject({
      ...{ chatId: DIRECT, isGroup: false, senderId: PERSON },
      replyTo: { text: 'the plan', origin: expect.stringContaining('not by the sender') },
    });
    const global = { type: 'shortcut', callback_id: 'help', trigger_id: '1.2.4' };
    expect(await arrives(() => server.sockets.deliver('interactive', { ...global, ...pressed }))).toMatchObject({
      ...{ chatId: DIRECT, text: '/help', senderId: PERSON },
    });
  }),
  'command in': scene(async ({ server, arrives }) => {
    const command = {
      command: '/new',
      text: '--keep 3',
      user_id: PERSON,
      team_id: 'T0TEST',
      channel_id: DIRECT,
      trigger_id: '1.2.3',
    };
    expect(await arrives(() => server.sockets.deliver('slash_commands', command))).toMatchObject({ text: '/new --keep 3' });
  }),
  'mention in a group': scene(async ({ server, arrives }) => {
    expect(await arrives(() => server.say({ channel: CHANNEL, text: `<@${BOT_USER}> hello` }))).toMatchObject({
      ...{ isGroup: true, mentionsBot: true, text: 'hello' },
    });
    expect(await arrives(() => server.say({ channel: CHANNEL, text: 'lunch?' }))).toMatchObject({ mentionsBot: false });
  }),
  'catch-up after a disconnect': scene(async ({ server, arrives }) => {
    server.sockets.disconnect('refresh_requested');
    await until('it left', () => server.sockets.open === 0);
    expect(await arrives(() => server.store({ text: 'meanwhile' }))).toMatchObject({ text: 'meanwhile' });
  }),
  'second key': scene(async ({ server, host }) => {
    server.say({ channel: CHANNEL, text: `<@${BOT_USER}> once` });
    await until('both events are acknowledged', () => server.sockets.acknowledged.length === 2);
    expect(host.offered.map(({ platformId, secondaryId }) => [platformId, secondaryId])).toEqual([
      [`${CHANNEL}:${server.workspace.messages[0]?.ts}`, expect.stringMatching(/^event:Ev/)],
    ]);
  }),
  'proof of a send': scene(async ({ server, channel, signal }) => {
    const part = outbound({ channel: 'slack', chatId: DIRECT, text: 'once' });
    server.fault({ method: 'chat.postMessage', kind: 'drop' });
    expect(await channel.send(part, { plain: false, signal })).toMatchObject({ kind: 'unknown' });
    expect(await channel.find?.(part, signal)).toEqual({ platformId: `${DIRECT}:${server.sends[0]?.ts}` });
    expect(await channel.find?.({ ...part, key: 'other' }, signal)).toBe('absent');
  }),
};
