import { expect, test } from 'vitest';
import { openJournal } from '../journal/open.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
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
  const dated = dueWaits(journal);
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
