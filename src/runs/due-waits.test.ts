import { expect, test } from 'vitest';
import { openJournal } from '../journal/open.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { JumpingClock } from '../testing/jobs.ts';
import { begin } from '../testing/journal-rows.ts';
import { dueWaits } from './due-waits.ts';

test('waits settle at their date with what they were given for that, and no other does', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const { seq, generation } = await begin(journal, 1);
  const at = clock.now() + 1_000;
  const waits = Array.from({ length: 250 }, (_, n) => ({
    ...{ callId: `c${n}`, kind: 'timer', about: 'a while', due: n < 249 ? at : at + 1 },
    ...(n === 0 ? { late: { ok: true, output: 'waited' } } : {}),
  })) as { callId: string; kind: 'timer'; about: string; due: number }[];
  await journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
  const dated = dueWaits(journal, { remind: () => undefined });
  expect(await dated.earliest()).toBe(at);
  await dated.fire(at - 1);
  expect(await dated.earliest()).toBe(at);
  await dated.fire(at);
  const stored = await journal.waits.of(seq);
  expect(stored.filter(({ isOpen }) => isOpen).map(({ callId }) => callId)).toEqual(['c249']);
  const outputs = new Set(stored.map(({ value }) => value?.output));
  expect(outputs).toEqual(new Set(['waited', 'Error: no answer came in time', undefined]));
  expect(await dated.earliest()).toBe(at + 1);
  await dated.fire(at + 1);
  expect([await dated.earliest(), (await journal.counts()).inbox.NEW]).toEqual([undefined, 1]);
});

test('F22 a clock that is set back lets no wait last longer than it was to last from the start', async () => {
  await using dir = await tempDir();
  const clock = new JumpingClock(Date.UTC(2026, 9, 2));
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const { seq, generation } = await begin(journal, 1);
  const wait = (callId: string, ms: number) => ({ callId, kind: 'timer', about: 'a while', due: clock.now() + ms }) as const;
  const waits = [wait('minute', 60_000), wait('hour', 3_600_000)];
  await journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
  const dated = dueWaits(journal, { remind: () => undefined });
  await clock.advance(30_000);
  for (const back of [10_000, 86_400_000, 86_400_000]) {
    clock.jump(-back);
    await dated.replan();
    const earliest = (await dated.earliest()) ?? 0;
    expect(earliest - clock.now()).toBeLessThanOrEqual(60_000);
    expect(earliest - clock.now()).toBeGreaterThanOrEqual(30_000);
  }
  await clock.advance(60_000);
  await dated.fire(clock.now());
  expect((await journal.waits.of(seq)).map(({ callId, isOpen }) => [callId, isOpen])).toEqual([
    ['hour', true],
    ['minute', false],
  ]);
});
