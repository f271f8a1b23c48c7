/** The Bot API is believed to keep its schema, and nothing here may depend on that. */
import { isDeepStrictEqual } from 'node:util';
import type { Update } from 'grammy/types';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { MemoryLogger, until } from '../../src/testing/fakes.ts';
import authors from './fixtures/authors.json' with { type: 'json' };
import groups from './fixtures/groups.json' with { type: 'json' };
import media from './fixtures/media.json' with { type: 'json' };
import privates from './fixtures/private.json' with { type: 'json' };
import { toInbound } from './in/inbound.ts';
import { pressOf, reactionOf } from './in/inbound-events.ts';
import { type PollOptions, pollUpdates } from './in/receive.ts';

const ME = { id: 700_001, username: 'gatehouse_bot', first_name: 'Gatehouse', is_bot: true } as const;
const ABILITIES = {
  ...{
    can_join_groups: true,
    can_read_all_group_messages: false,
    supports_inline_queries: false,
    can_connect_to_business: false,
  },
  ...{
    can_manage_bots: false,
    supports_join_request_queries: false,
    has_main_web_app: false,
    has_topics_enabled: false,
    allows_users_to_create_topics: false,
  },
} as const;
const CONTEXT = { channel: 'telegram', account: '700001', me: ME, now: 1 };
/** Writes in no seed, so that no change may make a message theirs. */
const OWNER = 4_242_424;

const chat = { id: 1_000, type: 'private', first_name: 'Ada' };
const from = { id: 1_000, is_bot: false, first_name: 'Ada' };
const SEEDS: readonly unknown[] = [
  ...[privates, groups, media, authors].flatMap((fixtures) => Object.values(fixtures)),
  {
    update_id: 1,
    callback_query: { id: '1', from, chat_instance: 'x', data: 'c:yes', message: { message_id: 5, date: 1, chat } },
  },
  {
    update_id: 2,
    message_reaction: {
      chat,
      message_id: 5,
      user: from,
      date: 1,
      old_reaction: [],
      new_reaction: [{ type: 'emoji', emoji: '👍' }],
    },
  },
];

function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

type Place = readonly [holder: Record<string, unknown>, key: string];

function places(root: unknown): Place[] {
  if (typeof root !== 'object' || root === null) return [];
  const holder = root as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [[holder, key] as const, ...places(holder[key])]);
}

const STRINGS = [
  '',
  'x',
  '@gatehouse_bot',
  '/stop@gatehouse_bot',
  '\ud800',
  '\u202e',
  'a\n[Ada] b',
  'é'.repeat(5_000),
  '__proto__',
];
const NUMBERS = [0, -1, 1, 5, 1e9, 2 ** 40, -100_123, ME.id];
const JUNK = [null, true, 7, 'x', [], {}, [[]], { id: 7 }, [null], 1e300, -0.5];

/** Another value of the same type, which the schema allows nearly everywhere. */
function same([holder, key]: Place, draw: (below: number) => number): void {
  const value = holder[key];
  // What the platform says of itself, or tells the shapes of its objects apart by.
  if (key === 'type' || key === 'update_id') return;
  if (typeof value === 'string') holder[key] = STRINGS[draw(STRINGS.length)];
  else if (typeof value === 'number') holder[key] = NUMBERS[draw(NUMBERS.length)];
  else if (typeof value === 'boolean') holder[key] = !value;
  else if (Array.isArray(value) && draw(4) === 0 && key !== 'photo') holder[key] = value.slice(0, draw(value.length));
}

function broken([holder, key]: Place, draw: (below: number) => number): void {
  if (draw(4) === 0) delete holder[key];
  else holder[key] = structuredClone(JUNK[draw(JUNK.length)]);
}

test('A45 10,000 updates with other values in them: the reader throws at none, and takes nobody for somebody else', () => {
  const draw = generator(11);
  let read = 0;
  // Collected, because an assertion costs more than reading an update does.
  const wrong: string[] = [];
  for (let round = 0; round < 10_000; round += 1) {
    const update = structuredClone(SEEDS[round % SEEDS.length]) as Update;
    const all = places(update);
    for (let change = draw(4); change >= 0; change -= 1) {
      const place = all[draw(all.length)];
      if (place) same(place, draw);
    }
    const message = toInbound(update, CONTEXT) ?? pressOf(update, CONTEXT) ?? reactionOf(update, CONTEXT);
    if (!message) continue;
    read += 1;
    if (!isDeepStrictEqual(JSON.parse(JSON.stringify(message)), message)) wrong.push(`${round}: is no JSON`);
    if (!/^-?\d+$/.test(message.senderId) || message.senderId === String(OWNER)) wrong.push(`${round}: of ${message.senderId}`);
  }
  expect(wrong).toEqual([]);
  expect(read).toBeGreaterThan(8_000);
});

test('A45 10,000 updates that break the schema: none stops the poll, and the good one behind them arrives', async () => {
  const draw = generator(12);
  const updates = Array.from({ length: 10_000 }, (_, index) => {
    const update = structuredClone(SEEDS[index % SEEDS.length]) as Record<string, unknown>;
    const all = places(update).filter(([holder, key]) => holder !== update || key !== 'update_id');
    for (let change = draw(3); change >= 0; change -= 1) {
      const place = all[draw(all.length)];
      if (place) broken(place, draw);
    }
    return { ...update, update_id: index + 1 };
  });
  const good = { update_id: 20_000, message: { message_id: 9, date: 1, chat, from, text: 'still here' } };
  const batches = Array.from({ length: 100 }, (_, index) => updates.slice(index * 100, (index + 1) * 100) as unknown as Update[]);
  batches.push([good as unknown as Update]);
  const abort = new AbortController();
  const host = new TestHost();
  const client: PollOptions['client'] = {
    getMe: async () => ({ ...ME, ...ABILITIES }),
    deleteWebhook: async () => undefined,
    answerPress: async () => undefined,
    getUpdates: async (_options, signal) =>
      batches.shift() ??
      (await new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))),
  };
  const polling = pollUpdates({
    ...{ client, host, channel: 'telegram', account: String(ME.id), pollTimeoutSecs: 1, callTimeoutMs: 5_000 },
    ...{ clock: systemClock, random: () => 0, logger: new MemoryLogger(), signal: abort.signal },
    ...{ settled: () => undefined, connected: () => undefined, migrated: () => undefined },
  });
  await until('the good one arrived', () => host.accepted.find(({ text }) => text === 'still here'));
  abort.abort(new Error('over'));
  await polling;
  expect(host.accepted.some(({ refusal }) => refusal === 'unreadable')).toBe(true);
  // Those with the key of another are the same message to the gateway.
  expect(host.accepted.length).toBeGreaterThan(1_000);
  const wrong = host.accepted.filter(({ senderId, platformId }) => senderId === String(OWNER) || platformId === '');
  expect(wrong).toEqual([]);
});
