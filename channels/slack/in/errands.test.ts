/** Shortcuts and the AI pane: what the platform has to be asked before they are acknowledged. */
import { afterEach, expect, test } from 'vitest';
import type { Receipt } from '../../../src/core/channel.ts';
import { openMessagesTab, openPane } from '../../../src/simulator/slack/assistant-pane.ts';
import { BOT_USER, DIRECT, type Json, PERSON } from '../../../src/simulator/slack/workspace.ts';
import { quickClock } from '../../../src/testing/channel-host.ts';
import { gate, outbound, until } from '../../../src/testing/fakes.ts';
import { type SlackSetup, type SlackSetupOptions, slackSetup } from '../../../src/testing/slack/setup.ts';
import { channel as descriptor } from '../index.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item[Symbol.asyncDispose]();
});

/** Of one call, in `direct-chats.ts`. */
const CALL_MS = 800;
const PROMPTS = [{ title: 'Plan', message: 'Plan my week' }];

async function scene(options: SlackSetupOptions = {}) {
  const at: SlackSetup = await slackSetup(descriptor, { clock: quickClock(1), ...options });
  open.push(at);
  const { channel, host } = await at.start();
  const { server } = at;
  let presses = 0;
  const press = (payload: Json): void => {
    presses += 1;
    const by = { user: { id: PERSON, name: 'ada' }, team: { id: 'T0TEST' }, callback_id: 'ask', trigger_id: `1.${presses}` };
    server.transport.deliver('interactive', { ...by, action_ts: server.workspace.nextTs(), ...payload });
  };
  const about = (message: Json, chatId = 'C0TEST'): Json => ({ type: 'message_action', channel: { id: chatId }, message });
  const logged = (event: string) => at.logger.lines.filter((line) => line.event === event);
  return { ...at, channel, host, press, about, logged };
}

const quiet = ({ server }: SlackSetup) => until('all are acknowledged', () => server.sockets.unacknowledged === 0);

test('a shortcut of a message asks about it in the direct conversation, with words, files and author', async () => {
  const at = await scene();
  at.server.names.set('U0BOB', 'Bob');
  const file = at.server.file({ name: 'plan.png', mime: 'image/png', bytes: Buffer.from('png') });
  at.press(at.about(at.server.store({ channel: 'C0TEST', user: 'U0BOB', text: '[Ada] the &lt;plan&gt;', files: [file] })));
  // The catch-up that follows a start may bring the message itself as well.
  const message = await until('it arrived', () => at.host.accepted.find(({ replyTo }) => replyTo));
  expect(message).toMatchObject({
    ...{ chatId: DIRECT, isGroup: false, senderId: PERSON, kind: 'message' },
    text: '[asked with the shortcut (ask) about the message quoted here]'.replace('(ask)', '"ask"'),
    media: [{ kind: 'photo', ref: file.id }],
    replyTo: { fromBot: false, text: '[Ada] the <plan>', origin: 'written by Bob, not by the sender' },
  });
  expect(message.marks).toEqual([[0, message.text.length]]);
  // Its author need not be one who may write: the person who chose the shortcut points to it and answers
  // for it.
  expect(message.replyTo?.senderId).toBeUndefined();
});

test('a message in a conversation that the app is not in, a talk of two people say, is asked about all the same', async () => {
  const at = await scene();
  at.press(at.about({ type: 'message', ts: '1767225600.000100', user: PERSON, text: 'between us' }, 'D0OTHER'));
  const { chatId, replyTo } = await until('it arrived', () => at.host.accepted[0]);
  expect(chatId).toBe(DIRECT);
  // Their own words.
  expect(replyTo).toEqual({ platformId: 'D0OTHER:1767225600.000100', fromBot: false, text: 'between us' });
});

test('a command that is given in a talk of two people is one in the direct conversation with the app', async () => {
  const at = await scene();
  const by = { user_id: PERSON, user_name: 'ada', team_id: 'T0TEST', trigger_id: '9.1' };
  at.server.transport.deliver('slash_commands', { command: '/tasks', text: '', channel_id: 'D0OTHER', ...by });
  const message = await until('it arrived', () => at.host.accepted[0]);
  expect(message).toMatchObject({ chatId: DIRECT, isGroup: false, text: '/tasks', senderId: PERSON });
  await quiet(at);
});

test('without the scope to write to people, a command is one of the conversation that it was given in', async () => {
  const at = await scene();
  at.server.fault({ method: 'conversations.open', kind: 'error', error: 'missing_scope', needed: 'im:write', times: 3 });
  const by = { user_id: PERSON, team_id: 'T0TEST', trigger_id: '9.1' };
  at.server.transport.deliver('slash_commands', { command: '/tasks', text: '', channel_id: DIRECT, ...by });
  const message = await until('it arrived', () => at.host.accepted[0]);
  expect([message.chatId, message.refusal]).toEqual([DIRECT, undefined]);
});

const command = (text: string, n = 1): Json => ({
  ...{ command: text, text: '', channel_id: DIRECT, user_id: PERSON, team_id: 'T0TEST', trigger_id: `9.${n}` },
});

test.each(['drop', 'hang'] as const)('a command is taken where it was given when questions about that %s', async (kind) => {
  const at = await scene();
  at.server.fault({ method: 'conversations.open', kind, times: 1_000 });
  at.server.transport.deliver('slash_commands', command('/stop'));
  const message = await until('it arrived', () => at.host.accepted[0]);
  expect([message.chatId, message.text, message.refusal]).toEqual([DIRECT, '/stop', undefined]);
  await quiet(at);
  expect(at.logged('slack.direct-chat-unknown')).toHaveLength(1);
});

test('F44 a command is taken also while a hundred wait for the platform', async () => {
  const quick = quickClock(1);
  const sleep = (ms: number, signal?: AbortSignal) => quick.sleep(ms >= CALL_MS ? 100_000 : ms, signal);
  const at = await scene({ clock: { ...quick, sleep } });
  at.server.fault({ method: 'conversations.open', kind: 'hang', times: 100 });
  for (let person = 0; person < 100; person += 1) at.press({ type: 'shortcut', user: { id: `U0P${person}` } });
  at.server.transport.deliver('slash_commands', command('/stop'));
  expect(await until('it arrived', () => at.host.accepted[0])).toMatchObject({ text: '/stop' });
});

test('what a person writes and commands behind a command stays behind it, and others do not wait', async () => {
  const at = await scene();
  at.server.fault({ method: 'conversations.open', kind: 'hang' });
  at.server.transport.deliver('slash_commands', command('/new', 1));
  at.server.say({ text: 'one' });
  at.server.transport.deliver('slash_commands', command('/tasks', 2));
  at.server.say({ text: 'two' });
  at.server.say({ text: `<@${BOT_USER}> hi`, user: 'U0BOB', channel: 'C0TEST' });
  await until('all arrived', () => at.host.accepted.length === 5);
  expect(at.host.accepted.map(({ text }) => text.replace(/^@\S+ /, ''))).toEqual(['hi', '/new', 'one', '/tasks', 'two']);
  await quiet(at);
});

test('a message of ours is quoted as ours, one of another app by what it shows', async () => {
  const at = await scene();
  at.press(at.about({ type: 'message', ts: '1767225600.000100', user: BOT_USER, text: 'an answer' }));
  const alert = {
    ts: '1767225600.000200',
    bot_id: 'B0OPS',
    username: 'ops',
    text: '',
    blocks: [{ text: { text: 'disk full' } }],
  };
  at.press(at.about(alert));
  await until('both arrived', () => at.host.accepted.length === 2);
  expect(at.host.accepted.map(({ replyTo }) => replyTo)).toMatchObject([
    { fromBot: true, text: 'an answer' },
    { fromBot: false, text: 'disk full', origin: 'written by ops, not by the sender' },
  ]);
});

test('a global shortcut asks for help in the direct conversation', async () => {
  const at = await scene();
  at.press({ type: 'shortcut' });
  expect(await until('it arrived', () => at.host.accepted[0])).toMatchObject({ chatId: DIRECT, text: '/help', senderId: PERSON });
});

test('F1 a shortcut is acknowledged after the commit', async () => {
  const at = await scene();
  const gate = Promise.withResolvers<Receipt>();
  at.host.next.push(gate.promise);
  at.press({ type: 'shortcut' });
  await until('it was offered', () => at.host.next.length === 0);
  expect(at.server.sockets.unacknowledged).toBe(1);
  gate.resolve({ kind: 'accepted' });
  await quiet(at);
});

test('without the scope to write to people, a shortcut is refused with a recorded reason and the fix once in the log', async () => {
  const at = await scene();
  at.server.fault({ method: 'conversations.open', kind: 'error', error: 'missing_scope', needed: 'im:write', times: 3 });
  at.press({ type: 'shortcut' });
  expect(await until('it arrived', () => at.host.accepted[0])).toMatchObject({ refusal: 'unreadable', senderId: PERSON });
  for (let n = 0; n < 2; n += 1) at.press({ type: 'shortcut' });
  await until('the others arrived', () => at.host.accepted.length === 3);
  await quiet(at);
  const told = at.logged('slack.direct-chat-refused');
  expect(told.map(({ data }) => data)).toEqual([expect.objectContaining({ hint: expect.stringContaining('im:write') })]);
});

test('where the platform cannot say at once where to answer, it is asked again: no shortcut comes twice', async () => {
  const at = await scene();
  at.server.fault({ method: 'conversations.open', kind: 'drop' });
  at.server.fault({ method: 'conversations.open', kind: 'hang' });
  at.press({ type: 'shortcut' });
  await until('it arrived', () => at.host.accepted.length === 1);
  await quiet(at);
  expect(at.server.calls.filter(({ method }) => method === 'conversations.open')).toHaveLength(3);
});

test('a shortcut that nothing can be asked about in time is not acknowledged, which the person is shown, and logged', async () => {
  const at = await scene();
  at.server.fault({ method: 'conversations.open', kind: 'drop', times: 1_000 });
  at.press({ type: 'shortcut' });
  await until('it is told', () => at.logged('slack.not-acknowledged').length === 1);
  expect([at.server.sockets.acknowledged, at.server.sockets.open]).toEqual([[], 1]);
});

test('F44 above a hundred that wait for the platform no more are taken, and those that wait are', async () => {
  const quick = quickClock(1);
  const overdue = gate();
  let hanging = 100;
  // The time limit of a call that hangs ends when all of them do; the others keep enough for a busy machine.
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    if (ms === CALL_MS && hanging-- > 0) return overdue.opened;
    return quick.sleep(ms >= CALL_MS ? 100_000 : ms, signal);
  };
  const at = await scene({ clock: { ...quick, sleep } });
  at.server.fault({ method: 'conversations.open', kind: 'hang', times: 100 });
  for (let person = 0; person <= 100; person += 1) at.press({ type: 'shortcut', user: { id: `U0P${person}` } });
  await until('one is left', () => at.logged('slack.not-acknowledged').length === 1);
  const asked = () => at.server.calls.filter(({ method }) => method === 'conversations.open').length;
  await until('the others hang', () => asked() === 100);
  expect(at.host.accepted).toEqual([]);
  overdue.open();
  await until('the others arrived', () => at.host.accepted.length === 100);
  await until('they are acknowledged', () => at.server.sockets.acknowledged.length === 100);
  expect([asked(), at.logged('slack.not-acknowledged').length]).toEqual([200, 1]);
  // Another socket would bring none of them again.
  expect(at.server.sockets.opened).toBe(1);
});

test('by signed requests a shortcut is answered after the commit, and with 503 when the platform cannot say where', async () => {
  const at = await scene({ mode: 'http' });
  at.press({ type: 'shortcut' });
  await until('it was taken', () => at.requests?.answers.length === 1);
  expect(at.host.accepted).toHaveLength(1);
  at.server.fault({ method: 'conversations.open', kind: 'drop', times: 1_000 });
  at.press({ type: 'shortcut', user: { id: 'U0BOB' } });
  await until('it was refused', () => at.requests?.answers.length === 2);
  expect(at.requests?.answers).toEqual([200, 503]);
});

test('a thread of the AI pane suggests the prompts of the config, and is acknowledged when it does', async () => {
  const at = await scene({ redeliverMs: 50, settings: { suggested_prompts: PROMPTS } });
  at.server.fault({ method: 'assistant.threads.setSuggestedPrompts', kind: 'cut', times: 2 });
  const root = openPane(at.server);
  await quiet(at);
  expect(at.server.workspace.prompts).toEqual(new Map([[`${DIRECT}:${root.ts}`, PROMPTS]]));
  expect(at.logged('slack.not-acknowledged').length).toBeGreaterThan(0);
  expect(at.host.offered).toEqual([]);
});

test('an agent shows them in its direct conversation, which has no thread yet', async () => {
  const at = await scene({ settings: { suggested_prompts: PROMPTS } });
  at.server.workspace.isAgent = true;
  openMessagesTab(at.server);
  await quiet(at);
  expect(at.server.workspace.prompts).toEqual(new Map([[DIRECT, PROMPTS]]));
});

test('an agent with threads of its own answers under the message, and shows there that it works', async () => {
  const at = await scene({ settings: { direct_threads: true } });
  const { signal } = new AbortController();
  const { ts } = at.server.say({ text: 'hi' });
  const { threadId, replyContext } = await until('it arrived', () => at.host.accepted[0]);
  expect(threadId).toBe(ts);
  const place = { chatId: DIRECT, threadId: ts };
  await at.channel.typing?.(place, signal);
  const part = outbound({ channel: 'slack', ...place, text: 'so', ...(replyContext && { replyContext }) });
  expect(await at.channel.send(part, { plain: false, signal })).toMatchObject({ kind: 'sent' });
  expect(at.server.sends).toMatchObject([{ channel: DIRECT, threadTs: ts }]);
  expect(await at.channel.find?.(part, signal)).toEqual({ platformId: `${DIRECT}:${at.server.sends[0]?.ts}` });
});

test('where the pane has threads, the direct conversation that holds it shows none a second time', async () => {
  const at = await scene({ settings: { suggested_prompts: PROMPTS } });
  const root = openPane(at.server);
  openMessagesTab(at.server);
  await quiet(at);
  expect([...at.server.workspace.prompts.keys()]).toEqual([`${DIRECT}:${root.ts}`]);
});

test('an app without the feature says so once, with the fix, and asks no more', async () => {
  const at = await scene({ settings: { suggested_prompts: PROMPTS } });
  const fault = { kind: 'error', error: 'missing_scope', needed: 'assistant:write', times: 9 } as const;
  at.server.fault({ method: 'assistant.threads.setSuggestedPrompts', ...fault });
  openMessagesTab(at.server);
  await until('it is told', () => at.logged('slack.prompts-refused').length === 1);
  openMessagesTab(at.server);
  await quiet(at);
  expect(at.server.calls.filter(({ method }) => method.endsWith('setSuggestedPrompts'))).toHaveLength(1);
  expect(at.logged('slack.prompts-refused')[0]?.data).toMatchObject({ hint: expect.stringContaining('assistant:write') });
});

test('what the person looks at beside the pane is acknowledged and named in the log', async () => {
  const at = await scene({ settings: { suggested_prompts: PROMPTS } });
  const thread = { user_id: PERSON, context: { channel_id: 'C0SEEN' }, channel_id: DIRECT, thread_ts: '1767225600.000100' };
  at.server.event({ type: 'assistant_thread_context_changed', assistant_thread: thread, event_ts: '1767225600.000200' });
  await quiet(at);
  expect(at.logged('slack.not-handled')[0]?.data).toEqual({ kind: 'assistant_thread_context_changed' });
  expect(at.host.offered).toEqual([]);
});

test('the first words of a person name the thread of the pane once it is answered, and no later ones', async () => {
  const at = await scene();
  const root = openPane(at.server);
  const thread = `${DIRECT}:${root.ts}`;
  const answer = async (text: string): Promise<void> => {
    const { ts } = at.server.say({ text, thread_ts: root.ts });
    const message = await until('it arrived', () => at.host.accepted.find(({ platformId }) => platformId === `${DIRECT}:${ts}`));
    const { replyContext, threadId } = message;
    const part = outbound({
      channel: 'slack',
      chatId: DIRECT,
      text: 'so',
      key: ts,
      ...(threadId && { threadId }),
      ...(replyContext && { replyContext }),
    });
    expect(await at.channel.send(part, { plain: false, signal: new AbortController().signal })).toMatchObject({ kind: 'sent' });
  };
  expect(at.server.workspace.titles.get(thread)).toBeUndefined();
  await answer('Plan my week,\nall of it');
  await until('it has a title', () => at.server.workspace.titles.get(thread) === 'Plan my week, all of it');
  await answer('and the next');
  await quiet(at);
  expect(at.server.calls.filter(({ method }) => method === 'assistant.threads.setTitle')).toHaveLength(1);
  // The platform tells a new title as an edit of the first message.
  expect(at.host.accepted.map(({ kind, text }) => [kind, text])).toEqual([
    ['message', 'Plan my week,\nall of it'],
    ['message', 'and the next'],
  ]);
});

test('a command is no name for a thread of the pane', async () => {
  const at = await scene();
  const root = openPane(at.server);
  const { ts } = at.server.say({ text: '/help', thread_ts: root.ts });
  const message = await until('it arrived', () => at.host.accepted.find(({ platformId }) => platformId.endsWith(ts)));
  expect(message.replyContext).toEqual({ ts });
});

test('an answer does not wait for the title, and stands without one', async () => {
  const at = await scene();
  const root = openPane(at.server);
  at.server.fault({ method: 'assistant.threads.setTitle', kind: 'error', error: 'missing_scope', times: 9 });
  const { ts } = at.server.say({ text: 'hi', thread_ts: root.ts });
  const { replyContext } = await until('it arrived', () => at.host.accepted.find(({ platformId }) => platformId.endsWith(ts)));
  const part = outbound({
    channel: 'slack',
    chatId: DIRECT,
    threadId: root.ts,
    text: 'so',
    ...(replyContext && { replyContext }),
  });
  expect(await at.channel.send(part, { plain: false, signal: new AbortController().signal })).toMatchObject({ kind: 'sent' });
  await until('it is told', () => at.logged('slack.title-not-set').length === 1);
});

test.each([`<@${BOT_USER}> what is this?`, `<@${BOT_USER}>`])(
  'a mention whose event lacks the files of its message is answered with them: %s',
  async (text) => {
    const { server, host } = await scene();
    const file = server.file({ name: 'a.png', mime: 'image/png', bytes: Buffer.from('png') });
    const stored = server.store({ channel: 'C0TEST', text, files: [file] });
    const event = { ...stored, channel_type: 'channel', event_ts: stored.ts };
    const { files: _left, subtype: _kind, ...short } = event as typeof event & { files?: unknown; subtype?: unknown };
    server.event({ ...short, type: 'app_mention', channel_type: undefined });
    server.event(event);
    await until('both are acknowledged', () => server.sockets.acknowledged.length === 2);
    expect(host.accepted).toMatchObject([{ mentionsBot: true, media: [{ kind: 'photo', ref: file.id }] }]);
    expect(host.accepted[0]?.refusal).toBeUndefined();
  },
);
