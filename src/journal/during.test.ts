import { expect, test } from 'vitest';
import type { Admission } from '../core/run.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { LANE, message, SESSION } from '../testing/journal-rows.ts';
import { openJournal } from './open.ts';

const during = {
  ...{ kind: 'overflow', most: 5, gathers: false, full: () => [] },
  follows: ({ text }: { readonly text: string }) => text.startsWith('/'),
} as const;

function say(n: number, text: string, more: object = {}): Admission {
  return { kind: 'admit', message: message(n, { text }), lane: LANE, session: SESSION, ...more };
}

test('speculative: what is said behind a command that waits for its turn, or has it, waits behind it', async () => {
  await using dir = await tempDir();
  const { journal } = await openJournal({ dir: dir.path, clock: new FakeClock() });
  await using _ = journal;
  await journal.accept([say(1, '/model cheap'), say(2, 'hello', { during })]);
  expect((await journal.waiting(LANE, 9)).map((row) => row.message?.text)).toEqual(['/model cheap', 'hello']);
  expect(await journal.waits.isBesideUnderWay(SESSION)).toBe(false);
});

test('speculative: what is said while a message is worked on runs beside it, which is known until it ends', async () => {
  await using dir = await tempDir();
  const { journal } = await openJournal({ dir: dir.path, clock: new FakeClock() });
  await using _ = journal;
  await journal.accept([say(1, 'a long one'), say(2, 'hello', { during })]);
  const [beside] = await journal.waiting(`${LANE}##1`, 9);
  expect(beside?.message?.text).toBe('hello');
  expect(await journal.waits.isBesideUnderWay(SESSION)).toBe(true);
  const row = await journal.claim(beside?.seq ?? 0);
  expect(await journal.waits.isBesideUnderWay(SESSION)).toBe(true);
  const { seq, generation } = row ?? expect.fail('nothing to claim');
  await journal.finish({ seq, generation, state: 'DONE', outcome: 'answered', lines: [], parts: [] });
  expect([await journal.waits.isBesideUnderWay(SESSION), await journal.waits.isBesideUnderWay('other')]).toEqual([false, false]);
});
