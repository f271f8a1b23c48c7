import { expect, test } from 'vitest';
import { type FloodRecord, planFlood, SLOW_FROM, wrongFlood } from './flood.ts';
import { judgeChannel, percentile, type Written } from './judge.ts';
import { drawVictims, wrong } from './rounds.ts';
import { planTraffic, seeded } from './traffic.ts';

const asked = (number: number, person: number): Written => ({ channel: 'telegram', person, number, dueMs: 0, writtenAt: 1_000 });
const seen = (person: number, text: string, at = 1_200) => ({ person, text, at });

test('every way in which an answer can be wrong is told apart', () => {
  const written = [asked(0, 0), asked(1, 0), asked(2, 0), asked(3, 1), asked(4, 1)];
  const record = judgeChannel('telegram', written, [
    seen(0, 'answer telegram 1'),
    seen(0, 'answer telegram 0', 1_500),
    seen(0, 'answer telegram 1'),
    seen(1, 'answer telegram 2'),
    seen(1, 'I will be a while'),
    seen(1, 'answer telegram 4'),
    seen(1, 'answer telegram 99'),
    seen(7, 'of another phase'),
  ]);
  expect(record).toEqual({
    channel: 'telegram',
    latenciesMs: [200, 500, 200],
    missing: [2, 3],
    twice: [1],
    disordered: [0],
    misdelivered: ['for person 0, at person 1: answer telegram 2'],
    strange: ['I will be a while'],
  });
  expect(wrong(record, false, 5)).toHaveLength(5);
});

test('a missing answer is excused only in trouble and only by an UNKNOWN, a notice only in trouble, a second answer never', () => {
  const lost = judgeChannel('telegram', [asked(0, 0), asked(1, 1)], [seen(0, 'answer telegram 0'), seen(0, 'please wait')]);
  expect(wrong(lost, true, 1)).toEqual([]);
  expect(wrong(lost, true, 0)).toHaveLength(1);
  expect(wrong(lost, false, 1)).toHaveLength(2);
  const twice = judgeChannel('telegram', [asked(0, 0)], [seen(0, 'answer telegram 0'), seen(0, 'answer telegram 0')]);
  expect(wrong(twice, true, 9)).toHaveLength(1);
});

test('an answer that another person sees is excused by no trouble', () => {
  const record = judgeChannel(
    'telegram',
    [asked(0, 0), asked(1, 1)],
    [seen(1, 'answer telegram 0'), seen(1, 'answer telegram 1')],
  );
  const fault = '1 seen by another person: for person 0, at person 1: answer telegram 0';
  expect(wrong(record, true, 1)).toEqual([fault]);
  expect(wrongFlood({ written: 2, record, refused: 1, noticed: 0 }, 'slow-threads')).toContain(fault);
});

test('traffic is steady on each channel, interleaved, spread over the people, and the same for the same seed', () => {
  const options = {
    channels: [{ name: 'a' }, { name: 'b', people: 1 }],
    ...{ messages: 40, rate: 2, people: 20, firstPerson: 60, firstNumber: 100 },
  };
  const plan = planTraffic({ ...options, random: seeded(1) });
  const [a, b] = ['a', 'b'].map((name) => plan.filter(({ channel }) => channel === name));
  expect(a?.map(({ number }) => number)).toEqual(Array.from({ length: 40 }, (_, index) => 100 + index));
  for (const [index, one] of (a ?? []).entries())
    if (index > 0) expect(one.dueMs - (a?.[index - 1]?.dueMs ?? 0)).toBeCloseTo(500);
  expect(new Set(a?.map(({ person }) => person))).toEqual(new Set(Array.from({ length: 20 }, (_, index) => 60 + index)));
  expect(new Set(b?.map(({ person }) => person))).toEqual(new Set([0]));
  expect(
    plan
      .slice(0, 2)
      .map(({ channel }) => channel)
      .sort(),
  ).toEqual(['a', 'b']);
  expect(planTraffic({ ...options, random: seeded(1) })).toEqual(plan);
  expect(planTraffic({ ...options, random: seeded(2) })).not.toEqual(plan);
});

test.each([1, 2, 3])('every channel is in trouble in one round, by a trouble that can befall it (seed %i)', (seed) => {
  const all = ['disconnect', 'limit'];
  const faults: Record<string, readonly string[]> = { cli: [], email: ['disconnect'] };
  const names = ['telegram', 'discord', 'slack', 'whatsapp', 'feishu', 'wecom', 'twilio', 'email', 'cli'];
  const platforms = new Map(names.map((name) => [name, { faults: faults[name] ?? all }]));
  const rounds = drawVictims({ platforms }, seeded(seed));
  expect(rounds).toHaveLength(3);
  expect(rounds.flatMap((victims) => Object.values(victims)).sort()).toEqual([...names].sort());
  expect(rounds.find(({ slow }) => slow === 'cli')?.flap).toBe('email');
});

test('the 95th percentile of 100 values is the 95th of them', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect([percentile(values, 0.95), percentile(values, 0.5), percentile([], 0.5)]).toEqual([95, 50, Number.NaN]);
});

test('a flood fails for a message without an outcome, a second answer, another notice, or none', () => {
  const notice = '⚠️ Too many messages are waiting here.';
  const written = [asked(0, 0), asked(1, 0), asked(2, 0), asked(3, 0)];
  const record = (...texts: readonly string[]) =>
    judgeChannel(
      'telegram',
      written,
      texts.map((text) => seen(0, text)),
    );
  const good: FloodRecord = { written: 4, record: record('answer telegram 0', notice), refused: 2, noticed: 1 };
  expect(wrongFlood(good)).toEqual([]);
  expect(wrongFlood({ ...good, refused: 1 })).toEqual(['of 4 messages 1 answered, 1 refused, 1 answered with the notice']);
  expect(wrongFlood({ ...good, record: record('answer telegram 0') })).toEqual(['told 0 times']);
  expect(wrongFlood({ ...good, record: record('answer telegram 0', notice, notice) })).toEqual(['told 2 times']);
  expect(wrongFlood({ ...good, record: record('answer telegram 0', notice, 'wait') })).toEqual(['1 unexpected: wait']);
  const twice = record('answer telegram 0', notice, 'answer telegram 0');
  expect(wrongFlood({ ...good, record: twice })).toEqual(['1 answered twice (0)']);
});

test('slow threads fail for one that is not answered, and for a notice', () => {
  const plan = planFlood({ shape: 'slow-threads', channel: 'telegram', messages: 10_100, overMs: 100_000 });
  expect([plan.length, new Set(plan.map(({ person }) => person)).size, new Set(plan.map(({ sender }) => sender)).size]).toEqual([
    10, 10, 1,
  ]);
  expect(plan.every(({ number, dueMs }) => number >= SLOW_FROM && dueMs === 0)).toBe(true);
  const written = [asked(0, 0), asked(1, 0)];
  const record = (...texts: readonly string[]) =>
    judgeChannel(
      'telegram',
      written,
      texts.map((text) => seen(0, text)),
    );
  const good: FloodRecord = {
    ...{ written: 2, refused: 0, noticed: 0 },
    record: record('answer telegram 0', 'answer telegram 1'),
  };
  expect(wrongFlood(good, 'slow-threads')).toEqual([]);
  const refused = { ...good, record: record('answer telegram 0'), refused: 1 };
  expect(wrongFlood(refused, 'slow-threads')).toEqual(['1 refused']);
  const told = { ...good, record: record('answer telegram 0', '⚠️ Too many messages are waiting here.'), noticed: 1 };
  expect(wrongFlood(told, 'slow-threads')).toEqual(['told 1 times']);
});

test('a flood by one person fills a hundred chats alike, at a steady rate', () => {
  const plan = planFlood({ shape: 'flood-sender', channel: 'telegram', messages: 10_100, overMs: 100_000 });
  const chats = Map.groupBy(plan, ({ person }) => person);
  expect([chats.size, new Set([...chats.values()].map(({ length }) => length))]).toEqual([100, new Set([101])]);
  expect(new Set(plan.map(({ sender }) => sender)).size).toBe(1);
  expect([plan[0]?.dueMs, plan[5_050]?.dueMs]).toEqual([0, 50_000]);
});
