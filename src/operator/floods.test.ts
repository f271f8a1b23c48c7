// Messages and edits of one sender over their share; the journal's sums are as the test says.
import { expect, test } from 'vitest';
import { limitsSection } from '../../config/sections/limits.ts';
import type { RunEvent } from '../core/events.ts';
import type { Admission } from '../core/run.ts';
import type { Load } from '../core/runs.ts';
import { FakeClock, inbound } from '../testing/fakes.ts';
import { admit, part } from '../testing/journal-rows.ts';
import { Floods } from './floods.ts';

const MIB = 1024 * 1024;

function inAll({ lane, sender }: Partial<Record<string, Load>>): Load {
  const most = (of: keyof Load): number => Math.max(lane?.[of] ?? 0, sender?.[of] ?? 0);
  return { messages: most('messages'), bytes: most('bytes') };
}

/**
 * `loads`: what waits, by `lane`, `sender` and `all`; by default `all` is the largest of these. `mine`: what
 * the sender has waiting in the lane.
 */
function scene(loads: Partial<Record<string, Load>>, set: Record<string, number> = {}) {
  const none = { messages: 0, bytes: 0 };
  const at = { limits: limitsSection.parse(set), loads };
  const journal = {
    room: () => 100,
    load: (kind: string, _key: string, principal?: string) =>
      at.loads[principal === undefined ? kind : 'mine'] ?? (kind === 'all' ? inAll(at.loads) : none),
  };
  const clock = new FakeClock();
  const events: RunEvent[] = [];
  const emit = (event: RunEvent): unknown => events.push(event);
  const options = { journal, highWater: 1_000, limits: () => at.limits, clock, emit, answer: () => [] };
  return Object.assign(at, { clock, events, floods: new Floods(options) });
}

const judged = (admission: Admission) =>
  admission.kind === 'refuse' ? admission.reason : admission.kind === 'answer' ? admission.outcome : 'admit';

test('a sender who was told in a batch that could not be committed is told again, also by an edit', () => {
  const { floods } = scene({ lane: { messages: 50, bytes: 0 }, sender: { messages: 50, bytes: 0 } });
  const edit = admit(inbound({ kind: 'edit', targetId: 'old' }));
  const ownRow = (judged: Admission) => (judged.kind === 'admit' ? judged.ifOwnRow?.().kind : undefined);
  const [first, second] = [floods.judge(edit), floods.judge(edit)];
  // Only the journal knows which of them change what waits: the first that does not is told.
  expect([ownRow(second), ownRow(first)]).toEqual(['answer', 'refuse']);
  floods.entered([first, second], false);
  expect([ownRow(floods.judge(edit)), floods.judge(admit(inbound())).kind]).toEqual(['answer', 'refuse']);
});

test.each<[string, 'lane' | 'sender', Load, Record<string, number>]>([
  ['chat_messages', 'lane', { messages: 3, bytes: 0 }, { chat_messages: 3 }],
  ['chat_mb', 'lane', { messages: 1, bytes: 2 * MIB }, { chat_mb: 2 }],
  ['person_messages', 'sender', { messages: 3, bytes: 0 }, { person_messages: 3 }],
  ['person_mb', 'sender', { messages: 1, bytes: 2 * MIB }, { person_mb: 2 }],
])('what goes beyond limits.%s is refused by that name, and let in again once the key allows more', (key, kind, load, set) => {
  const at = scene({ [kind]: load }, set);
  expect([1, 2].map(() => judged(at.floods.judge(admit(inbound()))))).toEqual([`flood:${key}`, `flood:${key}`]);
  at.limits = limitsSection.parse({ [key]: (set[key] ?? 0) + 1 });
  expect(judged(at.floods.judge(admit(inbound())))).toBe('admit');
});

test('without keys a chat may have a twentieth of the high-water mark waiting, and a person a tenth', () => {
  const met = (loads: Partial<Record<string, Load>>) => judged(scene(loads).floods.judge(admit(inbound())));
  expect(met({ lane: { messages: 49, bytes: 8 * MIB - 1 }, sender: { messages: 99, bytes: 16 * MIB - 1 } })).toBe('admit');
  expect(met({ lane: { messages: 50, bytes: 0 } })).toBe('flood:chat_messages');
  expect(met({ lane: { messages: 1, bytes: 8 * MIB } })).toBe('flood:chat_mb');
  expect(met({ sender: { messages: 100, bytes: 0 } })).toBe('flood:person_messages');
  expect(met({ sender: { messages: 1, bytes: 16 * MIB } })).toBe('flood:person_mb');
});

test('what all have waiting, and what one channel has to send, is bounded by limits.total_mb', () => {
  const message = inbound();
  expect(scene({ all: { messages: 9, bytes: 3 * MIB } }).floods.isFull([message])).toBe(false);
  expect(scene({ all: { messages: 9, bytes: 3 * MIB } }, { total_mb: 3 }).floods.isFull([message])).toBe(true);
  expect(scene({ outbox: { messages: 9, bytes: 3 * MIB } }, { total_mb: 3 }).floods.isFull([message])).toBe(true);
});

test.each<[string, Load, Load, string]>([
  ['one person has half of it', { messages: 30, bytes: 0 }, { messages: 25, bytes: 0 }, 'flood:chat_messages'],
  ['one person has half of its bytes', { messages: 2, bytes: 5 * MIB }, { messages: 1, bytes: 4 * MIB }, 'flood:chat_mb'],
  ['the others have more of it', { messages: 49, bytes: 0 }, { messages: 24, bytes: 0 }, 'admit'],
])('of what may wait in a group no person has more than half: %s', (_what, lane, mine, expected) => {
  const met = (isGroup: boolean) => judged(scene({ lane, mine }).floods.judge(admit(inbound({ isGroup }))));
  expect([met(true), met(false)]).toEqual([expected, 'admit']);
});

test('in one batch a person fills no more than half of a group either, and the others find room', () => {
  const { floods } = scene({}, { chat_messages: 4 });
  const write = (senderId: string) => judged(floods.judge(admit(inbound({ isGroup: true, senderId }))));
  expect(['bob', 'bob', 'bob', 'ada'].map(write)).toEqual(['admit', 'admit', 'flood:chat_messages', 'admit']);
});

test('who asks for help without end is answered twenty times a minute, and what they stop is stopped all the same', async () => {
  const { clock, floods } = scene({});
  const at = (senderId: string) => {
    const message = inbound({ text: '/help', senderId });
    return { kind: 'answer', message, lane: 'l', session: 's', outcome: 'help', parts: [part('p')] } as const;
  };
  for (let n = 0; n < 20; n += 1) expect(judged(floods.judge(at('bob')))).toBe('help');
  // Once they are told: a command that is left alone without a word is taken for done.
  expect(floods.judge({ ...at('bob'), topic: { to: 'work' } })).toEqual({ ...at('bob'), outcome: 'flood:at-once', parts: [] });
  expect(judged(floods.judge(at('bob')))).toBe('loop-cap');
  expect(judged(floods.judge(at('ada')))).toBe('help');
  const stop = { ...at('bob'), outcome: 'stop', cancels: { where: 'lane' as const } };
  expect(floods.judge(stop)).toEqual({ ...stop, parts: [] });
  expect(judged(floods.judge({ ...at('bob'), outcome: 'pairing', isStranger: true }))).toBe('pairing');
  await clock.advance(60_000);
  for (let n = 0; n < 20; n += 1) expect(judged(floods.judge(at('bob')))).toBe('help');
  floods.entered([at('bob')], false);
  expect(judged(floods.judge(at('bob')))).toBe('help');
});

test('a platform that is asked to hold its messages is named with the limit, again after ten minutes, and when they are taken again', async () => {
  const at = scene({ all: { messages: 9, bytes: 3 * MIB } }, { total_mb: 3 });
  for (const _ of [1, 2]) at.floods.isFull([inbound()]);
  expect(at.events).toEqual([
    {
      ...{ type: 'intake.held', at: at.clock.now(), channel: 'test', code: 'GH1509' },
      reason: 'messages up to limits.total_mb (3 MB) wait',
    },
  ]);
  await at.clock.advance(600_000);
  at.floods.isFull([inbound()]);
  expect(at.events).toHaveLength(2);
  at.loads['all'] = { messages: 9, bytes: 0 };
  at.floods.isFull([inbound()]);
  await at.clock.advance(60_000);
  for (const _ of [1, 2]) at.floods.isFull([inbound()]);
  expect(at.events.slice(2)).toEqual([{ type: 'intake.resumed', at: at.clock.now(), channel: 'test' }]);
  const sending = scene({ outbox: { messages: 1_000, bytes: 0 } });
  sending.floods.isFull([inbound()]);
  expect(sending.events).toMatchObject([{ reason: 'answers up to gateway.high_water (1000) are to be sent there' }]);
});
