import { expect, test } from 'vitest';
import type { Journal } from '../core/journal.ts';
import type { Admission } from '../core/run.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { done, LANE, message, SESSION } from '../testing/journal-rows.ts';
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

test('speculative: a correction of what runs beside the others waits behind it, and so does the next one', async () => {
  await using dir = await tempDir();
  const { journal } = await openJournal({ dir: dir.path, clock: new FakeClock() });
  await using _ = journal;
  const claim = async (from: Journal, lane: string) =>
    (await from.claim((await from.waiting(lane, 1))[0]?.seq ?? 0)) ?? expect.fail(`nothing waits in ${lane}`);
  const correct = (n: number): Admission => ({
    ...{ kind: 'admit', lane: LANE, session: SESSION },
    message: message(`edit-${n}`, { kind: 'edit', targetId: 'm-2', text: `hello ${n}` }),
  });
  const BESIDE = `${LANE}##1`;
  await journal.accept([say(1, 'a long one'), say(2, 'hello', { during })]);
  const [main, beside] = [await claim(journal, LANE), await claim(journal, BESIDE)];
  await journal.finish(done(main));
  await journal.accept([correct(1)]);
  expect((await journal.waiting(LANE, 9)).length).toBe(0);
  await journal.finish(done(beside));
  const first = await claim(journal, BESIDE);
  expect(first.message).toMatchObject({ text: 'hello 1', beside: main.key });
  await journal.accept([correct(2)]);
  expect((await journal.waiting(BESIDE, 9)).map((row) => row.message?.text)).toEqual(['hello 2']);
  await journal.finish(done(first));
  await journal.finish(done(await claim(journal, BESIDE)));
  // All of them are over.
  await journal.accept([correct(3)]);
  expect((await journal.waiting(LANE, 9)).map((row) => row.message)).toMatchObject([{ text: 'hello 3' }]);
});
