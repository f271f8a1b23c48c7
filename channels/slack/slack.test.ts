/** Socket Mode with the official client: what the contract suite cannot know of sockets and histories. */
import { afterEach, expect, test } from 'vitest';
import type { Channel, Receipt } from '../../src/core/channel.ts';
import { BOT_ID, BOT_USER, DIRECT } from '../../src/simulator/slack/workspace.ts';
import { quickClock, TestHost } from '../../src/testing/channel-host.ts';
import { outbound, until } from '../../src/testing/fakes.ts';
import { impatientClock, type SlackSetup, type SlackSetupOptions, slackSetup } from '../../src/testing/slack/setup.ts';
import { channel as descriptor } from './index.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item[Symbol.asyncDispose]();
});

async function scene(options: SlackSetupOptions = {}): Promise<SlackSetup> {
  const at = await slackSetup(descriptor, options);
  open.push(at);
  return at;
}

/** Also until the platform noticed. */
async function end(at: SlackSetup, channel: Channel): Promise<void> {
  await channel.stop();
  await until('the platform noticed', () => at.server.sockets.open === 0);
}

const texts = (host: TestHost): readonly string[] => host.accepted.map(({ text }) => text);
const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('a mention is two events, one message, and both are acknowledged', async () => {
  const at = await scene();
  const { host } = await at.start();
  at.server.say({ channel: 'C0TEST', text: `<@${BOT_USER}> hello` });
  await until('both are acknowledged', () => at.server.sockets.acknowledged.length === 2);
  expect(host.offered).toHaveLength(1);
  expect(host.accepted[0]).toMatchObject({ text: 'hello', mentionsBot: true, isGroup: true });
  expect(at.server.sockets.strange).toEqual([]);
});

test('F2 an event whose acknowledgement is slow comes again and again and is offered once', async () => {
  const at = await scene({ redeliverMs: 30 });
  const { host } = await at.start();
  const gate = Promise.withResolvers<Receipt>();
  host.next.push(gate.promise);
  at.server.say({ text: 'slow' });
  await until('it was delivered often', () => at.logger.lines.filter(({ event }) => event === 'slack.redelivered').length > 2);
  gate.resolve({ kind: 'accepted' });
  await until('it is acknowledged', () => at.server.sockets.unacknowledged === 0);
  expect(host.offered).toHaveLength(1);
  expect(at.logger.lines.find(({ event }) => event === 'slack.redelivered')?.data).toMatchObject({ count: 1, reason: 'timeout' });
});

test('A13 an event that is replayed later has the same keys', async () => {
  const at = await scene();
  const { host } = await at.start();
  const payload = at.server.event({
    type: 'message',
    channel: DIRECT,
    user: 'U0ADA',
    text: 'once',
    ts: at.server.workspace.nextTs(),
  });
  await until('it arrived', () => host.accepted.length === 1);
  const second = await at.create();
  open.push({ [Symbol.asyncDispose]: () => second.stop() });
  await second.start(host, new AbortController().signal);
  at.server.sockets.redeliver({ type: 'events_api', payload });
  at.server.sockets.redeliver({ type: 'events_api', payload });
  await until('all are acknowledged', () => at.server.sockets.unacknowledged === 0);
  expect(host.accepted).toHaveLength(1);
  const keys = host.offered.map(({ id, secondaryId }) => `${id} ${secondaryId}`);
  expect(new Set(keys).size).toBe(1);
});

test('what was written before the first start is not answered, and what is written after it is', async () => {
  const at = await scene();
  at.server.store({ text: 'old' });
  await rest(5);
  const { host } = await at.start();
  at.server.say({ text: 'new' });
  await until('it arrived', () => host.accepted.length === 1);
  at.server.sockets.cut();
  await until('it is back', () => at.server.sockets.opened === 2);
  await until('the catch-up ran', () => at.server.calls.filter(({ method }) => method === 'conversations.history').length > 1);
  await rest(20);
  expect(texts(host)).toEqual(['new']);
});

test('messages of an outage are fetched in order, before those that arrive live, from every kind of place', async () => {
  const at = await scene({ clock: quickClock(1) });
  const { server } = at;
  server.workspace.conversations.set('G0GROUP', 'mpim');
  const host = new TestHost();
  const first = await at.create();
  await first.start(host, new AbortController().signal);
  const parent = server.say({ channel: 'C0TEST', text: `<@${BOT_USER}> start` });
  await until('it arrived', () => host.accepted.length === 1);
  await end(at, first);
  server.sockets.keepMissed = false;
  server.say({ text: 'missed 1' });
  server.say({ text: 'missed 2' });
  server.say({ channel: 'G0GROUP', text: 'in a group' });
  server.workspace.add({ channel: 'C0TEST', text: 'an answer', user: BOT_USER, bot_id: BOT_ID, thread_ts: parent.ts });
  server.say({ channel: 'C0TEST', text: 'in a thread', thread_ts: parent.ts });
  server.workspace.add({ channel: 'C0TEST', text: 'of a bot', user: BOT_USER, bot_id: BOT_ID });
  // Slow enough that the live message is there before the history.
  server.fault({ method: 'users.conversations', kind: 'delay', delayMs: 50 });
  const starting = at.start(host);
  await until('the socket is open', () => server.sockets.open === 1);
  server.say({ text: 'live' });
  await starting;
  await until('all arrived', () => host.accepted.length === 6);
  expect(host.accepted.filter(({ chatId }) => chatId === DIRECT).map(({ text }) => text)).toEqual([
    'missed 1',
    'missed 2',
    'live',
  ]);
  expect(texts(host).toSorted()).toEqual(['in a group', 'in a thread', 'live', 'missed 1', 'missed 2', 'start']);
  expect(host.accepted.find(({ text }) => text === 'in a thread')).toMatchObject({ threadId: parent.ts, mentionsBot: true });
});

test('A1 somebody who names us in a thread does not make its replies ours; our own word in it does', async () => {
  const at = await scene();
  const { server } = at;
  server.echoes = true;
  const { host, channel } = await at.start();
  const parent = server.store({ channel: 'C0TEST', text: 'a talk among colleagues' });
  const thread = { channel: 'C0TEST', thread_ts: parent.ts };
  const reply = async (message: object) => {
    const { ts } = server.say({ ...thread, ...message });
    return await until('it arrived', () => host.accepted.find(({ platformId }) => platformId === `C0TEST:${ts}`));
  };
  // Whether this person may call us is decided behind the adapter.
  await reply({ user: 'U0MALLORY', text: `<@${BOT_USER}> hi` });
  expect(await reply({ text: 'lunch, anybody?' })).toMatchObject({ mentionsBot: false });
  const part = outbound({ channel: 'slack', chatId: 'C0TEST', threadId: parent.ts, text: 'an answer' });
  await channel.send(part, { plain: false, signal: new AbortController().signal });
  await until('our own word came back', () => host.accepted.some(({ refusal }) => refusal === 'own-message'));
  expect(await reply({ text: 'and now?' })).toMatchObject({ mentionsBot: true });
});

test.each([
  ['a send of ours that is not shown to us', 'send'],
  ['the first message, in a broadcast reply', 'root'],
  ['the count of its replies', 'replies'],
])('a thread that we wrote in is known by %s', async (_name, how) => {
  const at = await scene();
  const { server } = at;
  const { host, channel } = await at.start();
  const parent = server.store({ channel: 'C0TEST', text: 'a talk among colleagues' });
  const thread = { channel: 'C0TEST', thread_ts: parent.ts };
  if (how === 'send') {
    const part = outbound({ channel: 'slack', chatId: 'C0TEST', threadId: parent.ts, text: 'an answer' });
    await channel.send(part, { plain: false, signal: new AbortController().signal });
  }
  const root = { ...parent, thread_ts: parent.ts, reply_users: ['U0ADA', BOT_USER] };
  if (how === 'root') server.event({ ...server.store({ ...thread, text: 'look' }), subtype: 'thread_broadcast', root });
  const message = { ...parent, thread_ts: parent.ts, replies: [{ user: BOT_USER, ts: '1.000002' }] };
  const counted = { type: 'message', subtype: 'message_replied', channel: 'C0TEST', ts: server.workspace.nextTs(), message };
  if (how === 'replies') server.event(counted);
  server.say({ ...thread, text: 'and now?' });
  const reply = await until('it arrived', () => host.accepted.find(({ text }) => text === 'and now?'));
  expect(reply.mentionsBot).toBe(true);
});

test('what is not handled is acknowledged, and named in the log once for each kind', async () => {
  const at = await scene();
  const { host } = await at.start();
  const payloads = [
    ['events_api', { event: { type: 'app_home_opened', user: 'U0ADA', tab: 'messages' } }],
    ['events_api', { event: { type: 'member_joined_channel', user: 'U0BOB', channel: 'C0TEST' } }],
    ['events_api', { event: { type: 'message', subtype: 'channel_topic', channel: 'C0TEST', ts: '1.000001' } }],
    ['interactive', { type: 'shortcut', callback_id: 'ask', user: { id: 'U0ADA' } }],
    ['interactive', { type: 'message_action', callback_id: 'ask', message: { text: 'x' } }],
    ['interactive', { type: 'view_submission', view: {} }],
    ['interactive', { type: 'block_actions', actions: [{ type: 'static_select', selected_option: { value: 'a' } }] }],
    ['slash_commands', {}],
  ] as const;
  for (const [type, payload] of [...payloads, ...payloads]) at.server.sockets.deliver(type, payload);
  at.server.say({ text: 'behind it' });
  await until('it arrived', () => host.accepted.length === 1);
  await until('all are acknowledged', () => at.server.sockets.unacknowledged === 0);
  const named = at.logger.lines.filter(({ event }) => event === 'slack.not-handled').map(({ data }) => data['kind']);
  // What names a person is asked about first, beside the others.
  expect(named.toSorted()).toEqual([
    'app_home_opened',
    'block_actions/static_select',
    'member_joined_channel of a person',
    'message/channel_topic',
    'message_action',
    'shortcut',
    'slash command without its fields',
    'view_submission',
  ]);
});

test('an invitation into a channel tells the operator its id, once; that of somebody else does not', async () => {
  const at = await scene();
  await at.start();
  for (const user of ['U0BOB', BOT_USER, BOT_USER])
    at.server.event({ type: 'member_joined_channel', user, channel: 'C0NEW', inviter: 'U0ADA' });
  await until('all are acknowledged', () => at.server.sockets.unacknowledged === 0);
  const told = at.logger.lines.filter(({ event }) => event === 'slack.invited');
  expect(told.map(({ data }) => data)).toEqual([expect.objectContaining({ channel: 'C0NEW', inviter: 'U0ADA' })]);
});

test('events that the platform holds back are shown as missing and fetched from the history', async () => {
  const at = await scene({ clock: impatientClock() });
  const { host } = await at.start();
  at.server.store({ text: 'held back' });
  at.server.sockets.deliver('events_api', { type: 'app_rate_limited', team_id: 'T0TEST', minute_rate_limited: 1 });
  await until('it is fetched', () => texts(host).includes('held back'));
  await until('it is acknowledged', () => at.server.sockets.unacknowledged === 0);
  expect(host.states.map(({ detail }) => detail)).toContainEqual(expect.stringMatching(/holds events back/));
  await until('nothing is missing any more', () => host.states.at(-1)?.detail === undefined);
});

test('a hundred threads that a stranger named us in push out none that we wrote in', async () => {
  const at = await scene();
  const { server } = at;
  const { host } = await at.start();
  const ours = server.store({ channel: 'C0TEST', text: 'ours' });
  const word = server.workspace.add({ channel: 'C0TEST', text: 'an answer', user: BOT_USER, bot_id: BOT_ID, thread_ts: ours.ts });
  server.event(word);
  for (let index = 0; index < 120; index += 1) {
    const { ts } = server.store({ channel: 'C0TEST', user: 'U0MALLORY' });
    server.say({ channel: 'C0TEST', user: 'U0MALLORY', text: `<@${BOT_USER}> hi`, thread_ts: ts });
  }
  server.say({ channel: 'C0TEST', text: 'and now?', thread_ts: ours.ts });
  const followUp = await until('it arrived', () => host.accepted.find(({ text }) => text === 'and now?'));
  expect(followUp.mentionsBot).toBe(true);
});

test('an answer in a thread older than any gap is found, because the thread is remembered', async () => {
  const at = await scene();
  const { server } = at;
  const ts = `${Math.floor(Date.now() / 1_000) - 20 * 86_400}.000100`;
  server.workspace.add({ channel: 'C0TEST', user: 'U0ADA', text: 'long ago', ts });
  const host = new TestHost();
  const first = await at.create();
  await first.start(host, new AbortController().signal);
  server.event(server.workspace.add({ channel: 'C0TEST', text: 'here', user: BOT_USER, bot_id: BOT_ID, thread_ts: ts }));
  await until('our own word came back', () => host.accepted.length === 1);
  await until('the thread is in the cursor', async () => (await host.cursor())?.includes(ts));
  await end(at, first);
  server.sockets.keepMissed = false;
  server.say({ channel: 'C0TEST', text: 'and now', thread_ts: ts });
  await at.start(host);
  await until('it was fetched', () => host.accepted.length === 2);
  expect(host.accepted[1]).toMatchObject({ text: 'and now', mentionsBot: true });
});

test.each([
  ['to the microsecond', (ts: string) => ts],
  // The platform's own way, and the message is of the same second.
  ['in whole seconds', (ts: string) => `${Math.floor(Number(ts))}.000000`],
])('the last message before the outage, changed meanwhile, comes as an edit: dated %s', async (_name, dated) => {
  const at = await scene();
  const host = new TestHost();
  const first = await at.create();
  await first.start(host, new AbortController().signal);
  // Most messages do not fall on a whole millisecond.
  const said = at.server.say({ text: 'one', ts: `${at.server.workspace.nextTs().slice(0, -3)}987` });
  await until('it arrived', () => host.accepted.length === 1);
  await end(at, first);
  await rest(5);
  Object.assign(said, { text: 'two', edited: { user: 'U0ADA', ts: dated(at.server.workspace.nextTs()) } });
  await at.start(host);
  await until('the edit arrived', () => host.accepted.length === 2);
  expect(host.accepted[1]).toMatchObject({ kind: 'edit', targetId: `${DIRECT}:${said.ts}`, text: 'two' });
});

test('F22 a clock that was a day ahead costs no message of a later outage, nor of the one in which it was set right', async () => {
  const day = 86_400_000;
  const at = await scene({ clock: { ...quickClock(), now: () => Date.now() + day } });
  const host = new TestHost();
  const first = await at.create();
  await first.start(host, new AbortController().signal);
  const command = { command: '/new', text: '', user_id: 'U0ADA', team_id: 'T0TEST', channel_id: DIRECT, trigger_id: '1.2' };
  at.server.sockets.deliver('slash_commands', command);
  at.server.say({ text: 'one' });
  await until('both arrived', () => host.accepted.length === 2);
  await end(at, first);
  const stored = Number(JSON.parse((await host.cursor()) ?? '')['ts']);
  expect(Math.abs(stored - Date.now() / 1_000)).toBeLessThan(60);
  at.server.sockets.keepMissed = false;
  at.server.say({ text: 'missed' });
  await at.start(host);
  await until('it was fetched', () => host.accepted.length === 3);
  expect(texts(host)).toEqual(['/new', 'one', 'missed']);
});

test('F22 a cursor that an earlier release moved past now is set back, and what was missed is fetched', async () => {
  const at = await scene();
  const secs = Date.now() / 1_000;
  const host = new TestHost(JSON.stringify({ ts: (secs + 86_400).toFixed(6), since: (secs - 7_200).toFixed(6), threads: [] }));
  at.server.store({ text: 'missed', ts: `${Math.floor(secs) - 3_600}.000100` });
  await at.start(host);
  await until('it was fetched', () => host.accepted.length === 1);
  expect(texts(host)).toEqual(['missed']);
  await until('the cursor is set right', async () => Number(JSON.parse((await host.cursor()) ?? '')['ts']) < secs + 60);
});

test('many pages of history are fetched to the end, through a rate limit', async () => {
  const at = await scene();
  const host = new TestHost();
  const first = await at.create();
  await first.start(host, new AbortController().signal);
  await end(at, first);
  for (let index = 0; index < 450; index += 1) at.server.store({ text: String(index) });
  at.server.fault({ method: 'conversations.history', kind: 'limit', retryAfter: 2 });
  await at.start(host);
  await until('all arrived', () => host.accepted.length === 450);
  expect(texts(host)).toEqual(Array.from({ length: 450 }, (_, index) => String(index)));
});

test('F1 the cursor stands still until everything missed is committed: a kill in between loses nothing', async () => {
  const at = await scene();
  const host = new TestHost();
  const first = await at.create();
  await first.start(host, new AbortController().signal);
  const before = await host.cursor();
  await end(at, first);
  at.server.sockets.keepMissed = false;
  at.server.say({ text: 'missed' });
  at.server.fault({ method: 'conversations.history', kind: 'status', status: 500, times: 1_000 });
  const second = await at.create();
  await second.start(host, new AbortController().signal);
  at.server.say({ text: 'live' });
  await until('the live one arrived', () => host.accepted.length === 1);
  expect(host.states.at(-1)).toMatchObject({ state: 'healthy', detail: expect.stringContaining('not fetched yet') });
  await end(at, second);
  expect(await host.cursor()).toBe(before);
  at.server.clearFaults();
  await at.start(host);
  await until('the missed one was fetched', () => host.accepted.length === 2);
  expect(texts(host)).toEqual(['live', 'missed']);
  expect(host.state).toBe('healthy');
});

test('a scope that is missing is named, and costs the history of its kind only', async () => {
  const at = await scene();
  const host = new TestHost(JSON.stringify({ ts: String(Date.now() / 1_000 - 60), since: '1.000000' }));
  at.server.store({ text: 'direct' });
  at.server.workspace.conversations.set('C0TEST', 'public_channel');
  at.server.fault({ method: 'users.conversations', kind: 'delay', delayMs: 0, times: 2 });
  at.server.fault({ method: 'users.conversations', kind: 'error', error: 'missing_scope', needed: 'channels:read' });
  await at.start(host);
  await until('it was fetched', () => host.accepted.length === 1);
  await until('the scope is named', () => host.states.at(-1)?.detail?.includes('channels:read'));
  expect([texts(host), host.state]).toEqual([['direct'], 'healthy']);
});

test('a conversation that the platform refuses is told of and holds up no other', async () => {
  const at = await scene();
  const { server } = at;
  const host = new TestHost(JSON.stringify({ ts: String(Date.now() / 1_000 - 60), since: '1.000000' }));
  server.store({ channel: 'D0LAST', text: 'behind it' });
  server.fault({ method: 'conversations.history', kind: 'error', error: 'external_channel_migrating' });
  const before = await host.cursor();
  await at.start(host);
  await until('it was fetched', () => host.accepted.length === 1);
  await until('the gap is told of', () => host.states.at(-1)?.detail?.includes('external_channel_migrating'));
  expect([texts(host), host.state]).toEqual([['behind it'], 'healthy']);
  expect(host.states.at(-1)?.detail).toContain('in 1 conversation,');
  await until('the cursor went on', async () => (await host.cursor()) !== before);
});

test.each(['internal_error', 'org_login_required'])('a catch-up that meets %s is tried again to its end', async (error) => {
  const at = await scene();
  const host = new TestHost(JSON.stringify({ ts: String(Date.now() / 1_000 - 60), since: '1.000000' }));
  at.server.store({ text: 'missed' });
  at.server.fault({ method: 'conversations.history', kind: 'error', error, times: 2 });
  await at.start(host);
  await until('it was fetched', () => host.accepted.length === 1);
  await until('nothing is missing', () => host.states.at(-1)?.detail === undefined);
});

test('a platform that asks us to leave is left and met again, with no fuss and nothing lost', async () => {
  const at = await scene();
  const { host } = await at.start();
  for (const reason of ['warning', 'refresh_requested'] as const) {
    const { opened } = at.server.sockets;
    at.server.sockets.disconnect(reason);
    await until('it left', () => at.server.sockets.open === 0);
    at.server.sockets.keepMissed = false;
    at.server.say({ text: `during ${reason}` });
    at.server.sockets.keepMissed = true;
    await until('it is back', () => at.server.sockets.opened > opened && at.server.sockets.open === 1);
    await until('it was fetched', () => texts(host).includes(`during ${reason}`));
  }
  expect(at.server.sockets.most).toBe(1);
});

test('Socket Mode turned off is reported with what to do', async () => {
  const at = await scene();
  const { host } = await at.start();
  at.server.fault({ method: 'apps.connections.open', kind: 'error', error: 'not_allowed_token_type', times: 9 });
  at.server.sockets.disconnect('link_disabled');
  await until('it was given up', () => host.states.some(({ detail }) => detail?.includes('is Socket Mode on?')));
  expect(host.states.some(({ state, detail }) => state === 'down' && detail?.includes('Socket Mode was turned off'))).toBe(true);
});

test.each([
  ['the bot token', 'auth.test'],
  ['the app-level token', 'apps.connections.open'],
])('F34 a login refused for %s is tried for minutes and then no more', async (_name, method) => {
  const at = await scene({ clock: quickClock(200) });
  const { host, channel } = await at.start();
  at.server.fault({ method, kind: 'error', error: 'invalid_auth', times: 1_000 });
  at.server.sockets.cut();
  const refusals = () => at.logger.lines.filter(({ event }) => event === 'slack.disconnected');
  await until('it gave up', () => refusals().some(({ data }) => data['again'] === false));
  expect(host.states.at(-1)).toMatchObject({ state: 'down', detail: expect.stringContaining('GH1501') });
  // Waits of one second at first, and of a minute at most.
  expect(refusals().length).toBeGreaterThan(8);
  expect(refusals().length).toBeLessThan(20);
  const calls = at.server.calls.length;
  await rest(400);
  expect(at.server.calls.length).toBe(calls);
  await channel.stop();
});

test('F34 six refusals in a row and then a good login: the channel is back by itself', async () => {
  const at = await scene({ clock: quickClock(200) });
  const { host } = await at.start();
  at.server.fault({ method: 'auth.test', kind: 'error', error: 'invalid_auth', times: 6 });
  at.server.sockets.cut();
  await until('it was refused', () => host.state === 'down');
  await until('it is back', () => host.state === 'healthy');
});

test('a journal that recovers does not hide what the connection came to meanwhile', async () => {
  const at = await scene();
  const { host } = await at.start();
  const gate = Promise.withResolvers<Receipt>();
  host.next.push(new Error('no space left on the device'), gate.promise);
  at.server.say({ text: 'stored late' });
  await until('the journal is told of', () => host.states.at(-1)?.detail?.includes('cannot be stored'));
  at.server.loggedIn = false;
  at.server.sockets.cut();
  await until('the login was refused', () => at.logger.lines.some(({ event }) => event === 'slack.disconnected'));
  gate.resolve({ kind: 'accepted' });
  await until('it is stored', () => texts(host).includes('stored late'));
  await until('the journal is well', () => !host.states.at(-1)?.detail?.includes('cannot be stored'));
  expect(host.states.at(-1)).toMatchObject({ state: 'down', detail: expect.stringContaining('GH1501') });
  expect(host.states.filter(({ state }) => state === 'healthy')).toHaveLength(1);
});

test('F34 a bot token that is refused in a send is reported although the socket stands, and so is its return', async () => {
  const at = await scene();
  const { host, channel } = await at.start();
  const send = () =>
    channel.send(outbound({ channel: 'slack', chatId: DIRECT }), { plain: false, signal: new AbortController().signal });
  at.server.fault({ method: 'chat.postMessage', kind: 'error', error: 'account_inactive' });
  expect(await send()).toMatchObject({ kind: 'refused', reason: 'auth' });
  expect(host.states.at(-1)).toMatchObject({ state: 'down', detail: expect.stringMatching(/GH1501.*account_inactive/) });
  expect(await send()).toMatchObject({ kind: 'sent' });
  expect(host.states.at(-1)).toEqual({ state: 'healthy' });
  expect(at.server.sockets.opened).toBe(1);
});

test.each(['tokens_revoked', 'app_uninstalled'])(
  'F34 after %s the login is asked for, and reported when it is gone',
  async (type) => {
    const at = await scene();
    const { host } = await at.start();
    // Tokens of people may be revoked without ours.
    at.server.event({ type });
    await until('it was asked for', () => at.server.calls.filter(({ method }) => method === 'auth.test').length === 2);
    at.server.loggedIn = false;
    at.server.event({ type });
    await until('it is reported', () => host.states.at(-1)?.detail?.includes('GH1501'));
    expect(host.states.map(({ state }) => state)).toEqual(['starting', 'healthy', 'down']);
  },
);

test('F33 a connection that breaks every second is met with growing waits and never with two sockets', async () => {
  const at = await scene({ clock: quickClock(100) });
  const { host } = await at.start();
  for (let round = 0; round < 12; round += 1) {
    await until('a socket is open', () => at.server.sockets.open === 1);
    at.server.sockets.cut();
  }
  const opened = at.server.sockets.opened;
  // A hundred times as fast: a wait of a minute takes 0.6 s, and without waits there would be hundreds.
  await rest(100);
  expect(at.server.sockets.opened - opened).toBeLessThanOrEqual(2);
  expect(at.server.sockets.most).toBe(1);
  expect(host.states.some(({ state, detail }) => state === 'degraded' && detail?.includes('GH1502'))).toBe(true);
  at.server.say({ text: 'still here' });
  await until('it arrived', () => texts(host).includes('still here'));
});

test('F42 a second program on the same app is reported, both go on, and the all-clear is noticed', async () => {
  const at = await scene({ clock: impatientClock() });
  at.server.sockets.statedConnections = 2;
  const { host } = await at.start();
  expect(host.states.at(-1)).toMatchObject({ state: 'degraded', detail: expect.stringContaining('GH1503') });
  at.server.say({ text: 'mine' });
  await until('it arrived', () => host.accepted.length === 1);
  at.server.sockets.statedConnections = undefined;
  await until('the all-clear was noticed', () => host.state === 'healthy');
});

test('a platform that never greets is given up, and reached when it does', async () => {
  const at = await scene({ clock: quickClock(200) });
  at.server.sockets.silent = true;
  const { host } = await at.start();
  expect(host.states.at(-1)).toMatchObject({ state: 'degraded', detail: expect.stringContaining('GH1502') });
  at.server.sockets.silent = false;
  await until('it is connected', () => host.state === 'healthy');
  await until('the silent socket is closed', () => at.server.sockets.open === 1);
});

test('frames that are no envelopes neither end the process nor hold up the next message', async () => {
  const at = await scene();
  const { host } = await at.start();
  for (const frame of [
    '',
    'no json',
    'null',
    '[]',
    '{}',
    '{"type":"events_api"}',
    '{"type":"events_api","payload":{"event":7}}',
  ]) {
    at.server.sockets.raw(frame);
  }
  at.server.sockets.deliver('events_api', { event: { type: 'message', channel: {}, ts: [] }, event_id: 7 });
  at.server.event({ type: 'team_join', user: {} });
  at.server.sockets.deliver('interactive', { type: 'view_closed' });
  at.server.say({ text: 'behind it' });
  await until('it arrived', () => host.accepted.length === 1);
  await until('all are acknowledged', () => at.server.sockets.unacknowledged === 0);
});

test('F44 above a thousand waiting payloads the rest is left with the platform, and comes later', async () => {
  const at = await scene({ clock: quickClock(150) });
  const { host } = await at.start();
  const gate = Promise.withResolvers<Receipt>();
  host.next.push(gate.promise);
  for (let index = 0; index < 1_100; index += 1) at.server.say({ text: String(index) });
  await until('the socket was left', () => at.logger.lines.some(({ data }) => String(data['reason']).includes('more arrives')));
  gate.resolve({ kind: 'accepted' });
  await until('all arrived', () => host.accepted.length === 1_100);
  await until('all are acknowledged', () => at.server.sockets.unacknowledged === 0);
});

test('a button and a command come through the socket and are acknowledged after the commit', async () => {
  const at = await scene();
  const { host } = await at.start();
  const { ts } = at.server.store();
  const actions = [{ action_id: 'gatehouse_choice_0', value: 'yes', action_ts: at.server.workspace.nextTs() }];
  const user = { id: 'U0ADA', team_id: 'T0TEST' };
  at.server.sockets.deliver('interactive', { type: 'block_actions', user, channel: { id: DIRECT }, message: { ts }, actions });
  const command = { command: '/stop', text: '', user_id: 'U0ADA', team_id: 'T0TEST', channel_id: DIRECT, trigger_id: '1.2' };
  at.server.sockets.deliver('slash_commands', command);
  await until('both are acknowledged', () => at.server.sockets.unacknowledged === 0);
  expect(texts(host)).toEqual(['yes', '/stop']);
});

test('authors are shown by name, asked for once; without a name or the right to ask they keep their id', async () => {
  const at = await scene({ clock: quickClock(1) });
  const { host } = await at.start();
  const asked = () => at.server.calls.filter(({ method }) => method === 'users.info').length;
  for (const user of ['U0ADA', 'U0ADA', 'U0NOBODY', 'U0NOBODY']) {
    at.server.say({ user });
    await until('it arrived', () => at.server.sockets.unacknowledged === 0);
  }
  expect(host.accepted.map(({ senderName }) => senderName)).toEqual(['Ada', 'Ada', 'U0NOBODY', 'U0NOBODY']);
  expect(asked()).toBe(2);
  at.server.fault({ method: 'users.info', kind: 'error', error: 'missing_scope' });
  for (const user of ['U0BOB', 'U0EVE']) at.server.say({ user });
  await until('all arrived', () => host.accepted.length === 6);
  at.server.say({ user: 'U0LAST' });
  await until('all arrived', () => host.accepted.length === 7);
  expect(asked()).toBeLessThanOrEqual(4);
  expect(host.accepted.every(({ senderId }) => senderId.startsWith('U0'))).toBe(true);
});

test('stopped while a batch is being committed, it is acknowledged before the socket closes', async () => {
  const at = await scene();
  const { host, channel } = await at.start();
  const gate = Promise.withResolvers<Receipt>();
  host.next.push(gate.promise);
  at.server.say({ text: 'last' });
  await until('it was offered', () => host.next.length === 0);
  const stopping = channel.stop();
  gate.resolve({ kind: 'accepted' });
  await stopping;
  await until('it was acknowledged', () => at.server.sockets.acknowledged.length === 1);
});
