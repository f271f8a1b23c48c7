/** What was written while nobody listened, against a platform that can be in any state. */
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import type { Clock } from '../../../src/core/ports.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { TestHost } from '../../../src/testing/channel-host.ts';
import { MemoryLogger, until } from '../../../src/testing/fakes.ts';
import { CallError, type CallFailure } from '../../kit/call-error.ts';
import type { Packet } from '../wire/gateway.ts';
import { compareIds, idAt } from '../wire/ids.ts';
import type { Unread } from './missed.ts';
import { Receiver } from './receive.ts';

const BOT = '135000000000000001';
const ADA = '201000000000000001';
const DM = '301000000000000001';
const GUILD = '111000000000000011';
const ROOM = '110000000000000010';
const NOW = Date.now();
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const DOWN: CallFailure = { kind: 'api', status: 503, detail: 'down' };
const NONE: Unread = { forbidden: 0, withheld: 0, failed: 0, cut: 0 };

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

interface Stored {
  readonly id: string;
  readonly channel_id: string;
  readonly [field: string]: unknown;
}

/** What the platform keeps, over starts of the daemon. */
class Platform {
  readonly messages: Stored[] = [];
  readonly channels = new Map<string, object>();
  readonly calls: string[] = [];
  /** Calls that are never answered. */
  hangs: (route: string) => boolean = () => false;
  /** Chats without the permission Read Message History: their history is empty, and no error says why. */
  readonly withheld = new Set<string>();
  /** What a call fails by. */
  fails: (route: string) => CallFailure | undefined = () => undefined;

  /** `ms` relative to now. Resolves to what MESSAGE_CREATE would tell. */
  write(ms: number, content: string, chat = DM): Stored {
    const message: Stored = { id: idAt(NOW + ms), type: 0, channel_id: chat, author: { id: ADA, username: 'ada' }, content };
    this.messages.push(message);
    return message;
  }

  async call(route: string, query: Readonly<Record<string, string>> = {}): Promise<unknown> {
    this.calls.push(route);
    if (this.hangs(route)) return new Promise(() => undefined);
    const failure = this.fails(route);
    if (failure) throw new CallError('GET', failure);
    const chat = /^\/channels\/(\d+)\/messages$/.exec(route)?.[1];
    if (chat === undefined) return this.channels.get(route.replace('/channels/', '')) ?? [];
    if (this.withheld.has(chat)) return [];
    const found = this.messages.filter(({ id, channel_id }) => channel_id === chat && compareIds(id, query['after'] ?? '0') > 0);
    return found.slice(0, Number(query['limit'])).reverse();
  }
}

interface Cursor {
  readonly seen?: Readonly<Record<string, string>>;
  readonly privates?: readonly string[];
  readonly session?: object;
}

/** A daemon whose first start was long ago. `minute` lets the next wait of a minute or more pass. */
function start(platform: Platform, host: TestHost) {
  const abort = new AbortController();
  const unread: Unread[] = [];
  const waits: (() => void)[] = [];
  let sessions = 0;
  let ready = 0;
  const sleep: Clock['sleep'] = (ms, signal) => {
    // A timer of 1 ms for each of 501 rooms and each of their attempts is half a minute on a busy machine.
    if (ms < 20_000) return setImmediate(undefined, { signal });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    if (ms >= 60_000) waits.push(resolve);
    return promise;
  };
  const receiver = new Receiver({
    client: { call: (_method, route, { query }) => platform.call(route, query) },
    host,
    channel: 'discord',
    account: BOT,
    mentionRoles: false,
    mentionEveryone: false,
    followThreads: true,
    autoThreads: false,
    catchUpMs: DAY,
    callTimeoutMs: 20_000,
    clock: { ...systemClock, sleep },
    random: () => 0,
    logger: new MemoryLogger(),
    signal: abort.signal,
    onTrouble: () => undefined,
    ready: () => {
      ready += 1;
    },
    notCaughtUp: (now) => unread.push(now),
    commands: [],
    acknowledge: () => undefined,
  });
  const working = receiver.run();
  const stop = async (): Promise<void> => {
    abort.abort(new Error('over'));
    await working;
  };
  open.push(stop);
  let seq = 0;
  const push = (t: Packet['t'], d: unknown): void => {
    if (t === 'READY') sessions += 1;
    seq += 1;
    receiver.push({ t, d, s: seq, session: { id: `session ${sessions}`, url: 'wss://x', seq }, connection: abort.signal });
  };
  return {
    push,
    stop,
    unread: () => unread.at(-1) ?? NONE,
    minute: async () => (await until('it waits', () => waits.shift()))(),
    /** Connected, and what was missed is worked off. */
    connect: async (t: 'READY' | 'RESUMED', d: object = {}) => {
      const before = ready;
      push(t, d);
      await until('it is ready', () => ready > before);
    },
  };
}

function hostWith(cursor: Cursor = {}): TestHost {
  return new TestHost(JSON.stringify({ since: idAt(NOW - 90 * DAY), seen: {}, privates: [], ...cursor }));
}

const texts = (host: TestHost): readonly string[] => host.accepted.map(({ text }) => text);
const arrived = (host: TestHost, text: string) => until(`"${text}" arrived`, () => texts(host).includes(text));

test('what was missed during an outage longer than the patience is fetched after it, whatever was said since', async () => {
  const platform = new Platform();
  const host = hostWith({ seen: { [DM]: idAt(NOW - 60_000) }, privates: [DM] });
  platform.write(-30_000, 'missed');
  platform.fails = () => DOWN;
  const at = start(platform, host);
  await at.connect('READY');
  expect(at.unread()).toEqual({ ...NONE, failed: 1 });
  at.push('MESSAGE_CREATE', platform.write(0, 'live'));
  await arrived(host, 'live');
  const calls = platform.calls.length;
  await at.minute();
  await until('it was asked again', () => platform.calls.length > calls);
  platform.fails = () => undefined;
  await at.minute();
  await arrived(host, 'missed');
  await until('it is told', () => at.unread().failed === 0);
  expect(texts(host)).toEqual(['live', 'missed']);
});

test.each(['READY', 'RESUMED'] as const)(
  'what was missed during an outage is fetched by the next start too, after %s',
  async (again) => {
    const platform = new Platform();
    platform.channels.set(ROOM, { id: ROOM, type: 0, guild_id: GUILD });
    const host = hostWith({ seen: { [DM]: idAt(NOW - 60_000) }, privates: [DM] });
    platform.write(-30_000, 'missed');
    const missed = platform.write(-20_000, 'missed in a room never heard of', ROOM);
    const guild = { id: GUILD, channels: [{ id: ROOM, type: 0, last_message_id: missed.id }] };
    platform.fails = () => DOWN;
    const first = start(platform, host);
    await first.connect('READY');
    first.push('GUILD_CREATE', guild);
    await until('both are told', () => first.unread().failed === 2);
    first.push('MESSAGE_CREATE', platform.write(0, 'live'));
    first.push('MESSAGE_CREATE', { ...platform.write(1, 'live in the room', ROOM), guild_id: GUILD });
    await arrived(host, 'live in the room');
    await first.stop();
    platform.fails = () => undefined;
    const second = start(platform, host);
    await second.connect(again);
    if (again === 'READY') second.push('GUILD_CREATE', guild);
    await until('all arrived', () => host.accepted.length === 4);
    expect(texts(host).toSorted()).toEqual(['live', 'live in the room', 'missed', 'missed in a room never heard of']);
  },
);

test('a chat that may not be read and one with too many messages are told apart from one that cannot be read now', async () => {
  const platform = new Platform();
  const chats = [DM, '302000000000000002', '303000000000000003'] as const;
  const host = hostWith({ seen: Object.fromEntries(chats.map((chat) => [chat, idAt(NOW - HOUR)])), privates: chats });
  for (let n = 0; n < 2_001; n += 1) platform.write(n - 9_000, `m${n}`, chats[2]);
  const forbidden: CallFailure = { kind: 'api', status: 403, code: 50_001, detail: 'Missing Access' };
  platform.fails = (route) => (route.includes(chats[0]) ? DOWN : route.includes(chats[1]) ? forbidden : undefined);
  const at = start(platform, host);
  await at.connect('READY');
  expect(at.unread()).toEqual({ ...NONE, forbidden: 1, failed: 1, cut: 1 });
});

test('a room whose history is not shown is told, and what is missing there is fetched once it is', async () => {
  const platform = new Platform();
  const host = hostWith();
  const missed = platform.write(-30_000, 'missed', ROOM);
  const guild = { id: GUILD, channels: [{ id: ROOM, type: 0, last_message_id: missed.id }] };
  platform.withheld.add(ROOM);
  const at = start(platform, host);
  await at.connect('READY');
  at.push('GUILD_CREATE', guild);
  await until('it is told', () => at.unread().withheld === 1);
  platform.withheld.clear();
  await at.connect('READY');
  at.push('GUILD_CREATE', guild);
  await arrived(host, 'missed');
  await until('it is told', () => at.unread().withheld === 0);
});

test('what is known to be missing stays known while the history is not shown', async () => {
  const platform = new Platform();
  platform.channels.set(ROOM, { id: ROOM, type: 0, guild_id: GUILD });
  const host = hostWith({ seen: { [ROOM]: idAt(NOW - 60_000) } });
  const guild = { id: GUILD, channels: [{ id: ROOM, type: 0, last_message_id: platform.write(-30_000, 'missed', ROOM).id }] };
  platform.fails = () => DOWN;
  const first = start(platform, host);
  await first.connect('READY');
  first.push('GUILD_CREATE', guild);
  await until('it is told', () => first.unread().failed === 1);
  first.push('MESSAGE_CREATE', { ...platform.write(0, 'live', ROOM), guild_id: GUILD });
  await arrived(host, 'live');
  platform.fails = () => undefined;
  platform.withheld.add(ROOM);
  await first.minute();
  await until('it is told', () => first.unread().withheld === 1);
  expect(first.unread()).toEqual({ ...NONE, withheld: 1 });
  await first.stop();
  platform.withheld.clear();
  await start(platform, host).connect('RESUMED');
  expect(texts(host)).toEqual(['live', 'missed']);
});

test('an empty history is no news in a private chat, whose messages were deleted', async () => {
  const host = hostWith({ seen: { [DM]: idAt(NOW - 60_000) }, privates: [DM] });
  const at = start(new Platform(), host);
  await at.connect('READY');
  expect(at.unread()).toEqual(NONE);
});

test('rooms that are hidden from the bot and forums, which hold threads alone, are no news', async () => {
  const platform = new Platform();
  const [hidden, known, forum] = ['110000000000000020', '110000000000000030', '110000000000000040'] as const;
  platform.fails = () => ({ kind: 'api', status: 403, code: 50_001, detail: 'Missing Access' });
  const at = start(platform, hostWith({ seen: { [known]: idAt(NOW - HOUR) } }));
  await at.connect('READY', { guilds: [{ id: GUILD }] });
  const last_message_id = idAt(NOW - 1_000);
  const rooms = [forum, hidden, known].map((id) => ({ id, type: id === forum ? 15 : 0, last_message_id }));
  at.push('GUILD_CREATE', { id: GUILD, channels: rooms });
  await until('the room that the bot was in is told', () => at.unread().forbidden === 1);
  expect(at.unread()).toEqual({ ...NONE, forbidden: 1 });
  expect(platform.calls).toEqual([hidden, known].map((id) => `/channels/${id}/messages`));
});

test.each(['CHANNEL_DELETE', 'THREAD_DELETE'])('what could not be read of a room is forgotten with it: %s', async (event) => {
  const platform = new Platform();
  platform.fails = () => DOWN;
  const host = hostWith();
  const at = start(platform, host);
  await at.connect('READY');
  at.push('GUILD_CREATE', { id: GUILD, channels: [{ id: ROOM, type: 0, last_message_id: idAt(NOW - 1_000) }] });
  await until('it is told', () => at.unread().failed === 1);
  at.push(event, { id: ROOM, guild_id: GUILD });
  await until('it is told', () => at.unread().failed === 0);
  expect(JSON.parse((await host.cursor()) ?? '')).not.toHaveProperty('gaps');
});

test('during an outage only the first chat is given patience', async () => {
  const platform = new Platform();
  const chats = Array.from({ length: 20 }, (_, n) => String(301_000_000_000_000_000n + BigInt(n)));
  const host = hostWith({ seen: Object.fromEntries(chats.map((chat) => [chat, idAt(NOW - HOUR)])), privates: chats });
  platform.fails = () => DOWN;
  const at = start(platform, host);
  await at.connect('READY');
  expect(platform.calls).toHaveLength(25);
  platform.calls.length = 0;
  await at.minute();
  await until('it asked', () => platform.calls.length > 0);
  await at.minute();
  await until('it asked again', () => platform.calls.length > 1);
  expect(new Set(platform.calls).size).toBe(2);
});

test('F1 a kill while the rooms of a server are read leaves the rest to the next start', async () => {
  const platform = new Platform();
  const second = '110000000000000020';
  const host = hostWith();
  const channels = [ROOM, second].map((id, n) => {
    return { id, type: 0, last_message_id: platform.write(n - 9_000, `in ${id}`, id).id };
  });
  platform.hangs = (route) => route.includes(second);
  const first = start(platform, host);
  await first.connect('READY');
  first.push('GUILD_CREATE', { id: GUILD, channels });
  await until('the second room is asked', () => platform.calls.some((route) => route.includes(second)));
  await first.stop();
  expect(texts(host)).toEqual([`in ${ROOM}`]);
  // What is not worked off comes again: everything behind READY.
  expect(JSON.parse((await host.cursor()) ?? '')).toMatchObject({ session: { seq: 1 } });
  platform.hangs = () => false;
  const again = start(platform, host);
  again.push('GUILD_CREATE', { id: GUILD, channels });
  await again.connect('RESUMED');
  expect(texts(host)).toEqual([`in ${ROOM}`, `in ${second}`]);
});

test('rooms that were silent for longer than is ever fetched are not asked', async () => {
  const platform = new Platform();
  const at = start(platform, hostWith());
  const room = (n: number) => ({ id: String(BigInt(ROOM) + BigInt(n)), type: 0, last_message_id: idAt(NOW - 30 * DAY) });
  await at.connect('READY');
  at.push('GUILD_CREATE', { id: GUILD, channels: Array.from({ length: 300 }, (_, n) => room(n)) });
  await at.connect('RESUMED');
  expect(platform.calls).toEqual([]);
});

test('a session that goes on has told all: chats that were asked are not asked again, and what is missing is', async () => {
  const platform = new Platform();
  const second = '302000000000000002';
  for (const id of [ROOM, second]) platform.channels.set(id, { id, type: 0, guild_id: GUILD });
  const recent = idAt(NOW - 60_000);
  const host = hostWith({ seen: { [DM]: recent, [ROOM]: recent, [second]: recent }, privates: [DM] });
  platform.write(-60_000, 'known', ROOM);
  platform.write(-30_000, 'missed', second);
  const at = start(platform, host);
  const history = (chat: string) => `/channels/${chat}/messages`;
  platform.fails = (route) => (route === history(second) ? DOWN : undefined);
  // The session of an earlier start: whoever had it knew what it told, and we do not.
  await at.connect('RESUMED');
  expect(platform.calls.filter((route) => route !== history(second)).toSorted()).toEqual(
    [`/channels/${ROOM}`, history(ROOM), history(DM)].toSorted(),
  );
  expect(at.unread()).toEqual({ ...NONE, failed: 1 });
  platform.calls.length = 0;
  platform.fails = () => undefined;
  await at.connect('RESUMED');
  expect(platform.calls.filter((route) => route !== `/channels/${second}`)).toEqual([history(second)]);
  expect(texts(host)).toEqual(['known', 'missed']);
  expect(at.unread()).toEqual(NONE);
  platform.calls.length = 0;
  await at.connect('RESUMED');
  expect(platform.calls).toEqual([]);
});

test('a room that could not be read is asked again even if the cursor holds no more of such', async () => {
  const platform = new Platform();
  const chats = Array.from({ length: 501 }, (_, n) => String(301_000_000_000_000_000n + BigInt(n)));
  const host = hostWith({ seen: Object.fromEntries(chats.map((chat) => [chat, idAt(NOW - HOUR)])) });
  for (const [n, id] of chats.entries()) {
    platform.channels.set(id, { id, type: 0, guild_id: GUILD });
    platform.write(n - 30_000, `missed ${id}`, id);
  }
  platform.fails = () => DOWN;
  const at = start(platform, host);
  await at.connect('READY');
  expect(at.unread()).toEqual({ ...NONE, failed: 501 });
  platform.fails = () => undefined;
  await at.connect('RESUMED');
  expect(at.unread()).toEqual(NONE);
  expect(new Set(texts(host)).size).toBe(501);
});

test('a session that goes on before its servers were told leaves their rooms to be told', async () => {
  const platform = new Platform();
  platform.channels.set(ROOM, { id: ROOM, type: 0, guild_id: GUILD });
  const host = hostWith({ seen: { [ROOM]: idAt(NOW - 60_000) } });
  const missed = platform.write(-30_000, 'missed', ROOM);
  const at = start(platform, host);
  await at.connect('READY', { guilds: [{ id: GUILD }] });
  await at.connect('RESUMED');
  at.push('GUILD_CREATE', { id: GUILD, channels: [{ id: ROOM, type: 0, last_message_id: missed.id }] });
  await arrived(host, 'missed');
});

test('a room that cannot be looked up is not taken for a private chat', async () => {
  const platform = new Platform();
  platform.channels.set(ROOM, { id: ROOM, type: 0, guild_id: GUILD });
  const host = hostWith({ seen: { [ROOM]: idAt(NOW - 60_000) }, session: { id: 'session 0', url: 'wss://x', seq: 7 } });
  platform.write(-5_000, 'to my colleagues, not to the bot', ROOM);
  platform.fails = (route) => (route.endsWith('/messages') ? undefined : DOWN);
  const at = start(platform, host);
  await at.connect('RESUMED');
  expect(host.offered).toEqual([]);
  expect(at.unread()).toEqual({ ...NONE, failed: 1 });
  platform.fails = () => undefined;
  await at.minute();
  await arrived(host, 'to my colleagues, not to the bot');
  expect(host.offered).toMatchObject([{ chatId: ROOM, isGroup: true }]);
});

test.each([
  ['a private chat known, and what is missed there is fetched', 1, ['/help', 'missed']],
  ['nothing known of a conversation of others, where the bot is not', 2, ['/help']],
])('a command makes %s', async (_name, context, all) => {
  const platform = new Platform();
  const host = hostWith();
  const first = start(platform, host);
  await first.connect('READY');
  const command = { id: idAt(NOW - 60_000), application_id: BOT, type: 2, token: 'token', context, channel_id: DM };
  first.push('INTERACTION_CREATE', { ...command, user: { id: ADA, username: 'ada' }, data: { name: 'help', type: 1 } });
  await arrived(host, '/help');
  await first.stop();
  platform.write(-30_000, 'missed');
  await start(platform, host).connect('READY');
  expect(texts(host)).toEqual(all);
});

test('what was said in a server before the bot was invited is not answered, now or after a restart', async () => {
  const platform = new Platform();
  const quiet = '110000000000000020';
  for (const id of [ROOM, quiet]) platform.channels.set(id, { id, type: 0, guild_id: GUILD });
  const host = hostWith();
  platform.write(-HOUR, 'before', ROOM);
  const before = platform.write(-HOUR + 1, 'before, and then silence', quiet);
  const last = platform.write(-60_000, 'after', ROOM);
  const channels = [
    { id: ROOM, type: 0, last_message_id: last.id },
    { id: quiet, type: 0, last_message_id: before.id },
  ];
  const first = start(platform, host);
  await first.connect('READY');
  first.push('GUILD_CREATE', { id: GUILD, joined_at: new Date(NOW - 30 * 60_000).toISOString(), channels });
  await arrived(host, 'after');
  await first.stop();
  const second = start(platform, host);
  await second.connect('RESUMED');
  second.push('MESSAGE_CREATE', { ...platform.write(0, 'live', quiet), guild_id: GUILD });
  await arrived(host, 'live');
  expect(texts(host)).toEqual(['after', 'live']);
});

test('a thread that fell asleep meanwhile is read although no server lists it, and one that is gone is no news', async () => {
  const platform = new Platform();
  const [thread, gone] = ['120000000000000012', '120000000000000013'];
  platform.channels.set(thread, { id: thread, type: 11, guild_id: GUILD, parent_id: ROOM });
  const host = hostWith({ seen: { [thread]: idAt(NOW - HOUR), [gone]: idAt(NOW - HOUR), [ROOM]: idAt(NOW - HOUR) } });
  platform.write(-9_000, 'and then silence', thread);
  platform.fails = (route) =>
    route.includes(gone) ? { kind: 'api', status: 404, code: 10_003, detail: 'Unknown Channel' } : undefined;
  const at = start(platform, host);
  await at.connect('READY', { guilds: [{ id: GUILD }, { id: '111000000000000012' }] });
  at.push('GUILD_CREATE', { id: GUILD, channels: [{ id: ROOM, type: 0, last_message_id: idAt(NOW - HOUR) }] });
  at.push('GUILD_CREATE', { id: '111000000000000012' });
  await arrived(host, 'and then silence');
  expect(host.accepted).toMatchObject([{ chatId: ROOM, threadId: thread, isGroup: true }]);
  await until('the other one was asked', () => platform.calls.some((route) => route.includes(gone)));
  expect(at.unread()).toEqual(NONE);
  // The room is in the list, which says that nothing is new there.
  expect(platform.calls.filter((route) => route === `/channels/${ROOM}/messages`)).toEqual([]);
});

test('a thread is read although a server is out of order', async () => {
  const platform = new Platform();
  const thread = '120000000000000012';
  platform.channels.set(thread, { id: thread, type: 11, guild_id: GUILD, parent_id: ROOM });
  const host = hostWith({ seen: { [thread]: idAt(NOW - HOUR) } });
  platform.write(-9_000, 'and then silence', thread);
  const at = start(platform, host);
  await at.connect('READY', { guilds: [{ id: GUILD, unavailable: true }] });
  expect(platform.calls).toEqual([]);
  await at.minute();
  await arrived(host, 'and then silence');
});
