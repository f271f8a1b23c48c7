/** Events as nobody should send them: 10,000 of them through the whole way in. */
import { expect, test } from 'vitest';
import type { InboundMessage } from '../../src/core/message.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { MemoryLogger, until } from '../../src/testing/fakes.ts';
import { CallError } from '../kit/call-error.ts';
import { type Pushed, Receiver } from './in/receive.ts';
import { idAt } from './wire/ids.ts';

const BOT = '135000000000000001';
const STRANGER = '201000000000000001';
const OWNER = '202000000000000002';
const CHANNEL = '110000000000000010';
const GUILD = '111000000000000011';
const AT = Date.UTC(2026, 0, 1);
const ID = idAt(AT);

const message = {
  id: ID,
  type: 0,
  channel_id: CHANNEL,
  guild_id: GUILD,
  author: { id: STRANGER, username: 'stranger', global_name: OWNER },
  member: { nick: OWNER },
  content: `<@${BOT}> hello <@${OWNER}>`,
  mentions: [
    { id: BOT, username: 'gatehouse', bot: true },
    { id: OWNER, username: 'owner' },
  ],
  attachments: [{ id: '9000000000000009', filename: 'a.png', size: 3, content_type: 'image/png' }],
  message_reference: { message_id: '5000000000000005', type: 0 },
  referenced_message: { id: '5000000000000005', author: { id: OWNER, username: 'owner' }, content: 'secret' },
  edited_timestamp: '2026-01-01T00:00:00Z',
};
const interaction = {
  id: ID,
  application_id: BOT,
  token: 'tok',
  type: 3,
  channel_id: CHANNEL,
  guild_id: GUILD,
  member: { user: { id: STRANGER, username: 'stranger' } },
  message: { id: '5000000000000005', author: { id: BOT }, content: 'Shall I?' },
  data: { custom_id: 'gh0:yes', name: 'new', options: [{ name: 'a', value: 'b' }] },
};
const SEEDS: readonly (readonly [string, object])[] = [
  ['MESSAGE_CREATE', message],
  ['MESSAGE_UPDATE', message],
  ['MESSAGE_DELETE', { id: ID, channel_id: CHANNEL, guild_id: GUILD }],
  ['MESSAGE_DELETE_BULK', { ids: [ID], channel_id: CHANNEL, guild_id: GUILD }],
  ['MESSAGE_REACTION_ADD', { user_id: STRANGER, channel_id: CHANNEL, message_id: ID, emoji: { name: '👍' } }],
  ['INTERACTION_CREATE', interaction],
  [
    'GUILD_CREATE',
    { id: GUILD, channels: [{ id: CHANNEL, type: 0 }], threads: [{ id: '120000000000000012', type: 11, parent_id: CHANNEL }] },
  ],
  ['THREAD_LIST_SYNC', { guild_id: GUILD, threads: [{ id: '120000000000000012', type: 11, parent_id: CHANNEL }] }],
  ['CHANNEL_UPDATE', { id: CHANNEL, type: 0, guild_id: GUILD }],
];

/** Beyond 64 bits. */
const TOO_LARGE = '18446744073709551616';

/** Values that are not what stands in the schema. No id of a person is among them. */
const JUNK: readonly unknown[] = [
  null,
  undefined,
  0,
  -1,
  1e308,
  Number.NaN,
  '',
  '../../users/@me',
  'x'.repeat(5_000),
  '\u0000\u202e\ud800',
  '__proto__',
  [],
  {},
  [[[[]]]],
  true,
  TOO_LARGE,
];

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** One to three places of the event replaced, taken away, or wrapped. */
function mutate(value: unknown, next: () => number): unknown {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)] as T;
  if (typeof value !== 'object' || value === null || next() < 0.15) return pick(JUNK);
  const keys = Object.keys(value);
  if (keys.length === 0) return pick(JUNK);
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...value] : { ...value };
  const key = pick(keys) as keyof typeof copy;
  const remove = next() < 0.2;
  // JSON has no lists with holes.
  if (remove && Array.isArray(copy)) copy.splice(Number(key), 1);
  else if (remove) delete copy[key];
  else copy[key] = mutate(copy[key], next) as never;
  return copy;
}

test('A45 10,000 mutated events: nothing crashes, nobody is taken for somebody else, and the one behind them arrives', async () => {
  const host = new TestHost();
  const abort = new AbortController();
  const acknowledged: string[] = [];
  const routes: string[] = [];
  const logger = new MemoryLogger();
  const receiver = new Receiver({
    client: {
      call: (_method, route) => {
        routes.push(route);
        return Promise.reject(new CallError('GET', { kind: 'api', status: 404, code: 10_003, detail: 'Unknown Channel' }));
      },
    },
    host,
    channel: 'discord',
    account: BOT,
    mentionRoles: true,
    mentionEveryone: true,
    followThreads: true,
    autoThreads: false,
    catchUpMs: 3_600_000,
    callTimeoutMs: 1_000,
    clock: systemClock,
    random: () => 0,
    logger,
    signal: abort.signal,
    onTrouble: () => undefined,
    ready: () => undefined,
    notCaughtUp: () => undefined,
    commands: [],
    acknowledge: ({ id, token }) => acknowledged.push(`${id}/${token}`),
  });
  const working = receiver.run();
  const next = random(20_260_101);
  const session = { id: 'session', url: 'wss://x', seq: 0 };
  const packet = (t: string, d: unknown, s: number): Pushed => ({
    t,
    d,
    s,
    session: { ...session, seq: s },
    connection: abort.signal,
  });
  for (let n = 0; n < 10_000; n += 1) {
    const [type, event] = SEEDS[n % SEEDS.length] ?? ['', {}];
    let mutated: unknown = type === 'MESSAGE_CREATE' ? { ...event, id: idAt(AT + n) } : event;
    for (let times = 1 + Math.floor(next() * 3); times > 0; times -= 1) mutated = mutate(mutated, next);
    receiver.push(packet(type, mutated, n));
  }
  receiver.push(packet('MESSAGE_CREATE', { ...message, id: idAt(AT + 10_000), content: 'still here' }, 10_000));
  await until('the good one arrived', () => host.accepted.find(({ text }) => text === 'still here'));
  abort.abort(new Error('over'));
  await working;
  const unread = logger.lines
    .filter(({ event }) => event.endsWith('-unreadable') || event === 'discord.event-lost')
    .map(({ data }) => String(data['error']));
  // The reader gives up an event without an id; anything else would be a crash of it.
  expect(unread.filter((error) => !/^the \w+ id is no id of Discord$/.test(error))).toEqual([]);
  const senders = new Set(host.offered.map(({ senderId }: InboundMessage) => senderId));
  const known = [STRANGER, BOT, 'unknown', TOO_LARGE];
  expect([...senders].filter((id) => !known.includes(id))).toEqual([]);
  expect(senders.has(OWNER)).toBe(false);
  expect(acknowledged.length).toBeGreaterThan(0);
  expect(acknowledged.filter((route) => !/^[1-9]\d{14,19}\/[\w.~-]{1,512}$/.test(route))).toEqual([]);
  // Whatever stood in an event, a route is made of ids alone.
  const id = '[1-9]\\d{14,19}';
  const allowed = new RegExp(`^/(?:channels/${id}(?:/messages(?:/${id})?)?|guilds/${id}/roles|users/${id})$`);
  expect(routes.filter((route) => !allowed.test(route))).toEqual([]);
  expect(host.offered.every(({ chatId }) => chatId === 'unknown' || /^[1-9]\d{14,19}$/.test(chatId))).toBe(true);
  expect(host.offered.some(({ refusal }) => refusal === 'unreadable')).toBe(true);
});
