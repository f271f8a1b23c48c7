import { expect, test } from 'vitest';
import type { NewRun } from '../core/new-run.ts';
import { FakeClock, outbound, tempDir } from '../testing/fakes.ts';
import { begin, line, part, SESSION, usage } from '../testing/journal-rows.ts';
import { openJournal } from './open.ts';

const clock = new FakeClock();

const RUN: NewRun = {
  key: 'job/7/1000',
  source: { kind: 'job', job: '7', due: 1_000 },
  profile: 'session',
  lane: 'job/7',
  session: SESSION,
  prompt: { text: 'water the plants', media: [], at: '2026-11-22T00:00:00Z' },
  replyTo: { channel: 'test', account: 'bot', chatId: 'c1' },
  authority: { principal: 'test:ada', role: 'member', mode: 'guarded', policies: [] },
};

async function opened(dir: { readonly path: string }) {
  return await openJournal({ dir: dir.path, clock });
}

test('a run of a key is made once, also after it ended, and whoever acts on it is told', async () => {
  await using dir = await tempDir();
  await using at = await opened(dir);
  const { journal } = at;
  const woken: string[] = [];
  using _listening = journal.wakeup.listen((what, lane) => woken.push(`${what} ${lane}`));
  const room = journal.room();
  expect(await journal.commit([{ kind: 'run', run: RUN }])).toBe(true);
  expect(await journal.commit([{ kind: 'run', run: RUN }])).toBe(true);
  expect(journal.room()).toBe(room - 1);
  const [row, ...more] = await journal.waiting('job/7', 9);
  expect(more).toEqual([]);
  const { key, source, prompt, replyTo, authority } = RUN;
  expect(row).toMatchObject({ key, source, prompt, replyTo, authority, profile: 'session', session: SESSION });
  expect(woken).toEqual(['run job/7', 'run job/7']);
  const claimed = await journal.claim(row?.seq ?? 0);
  const claim = { seq: claimed?.seq ?? 0, generation: claimed?.generation ?? 0 };
  await journal.commit([], { ...claim, end: { state: 'DONE', outcome: 'answered' } });
  await journal.commit([{ kind: 'run', run: RUN }]);
  expect(await journal.waiting('job/7', 9)).toEqual([]);
});

test('a run of a run knows its parent and the root of its tree', async () => {
  await using dir = await tempDir();
  await using at = await opened(dir);
  const { journal } = at;
  const child = (key: string, parent: string): NewRun => ({
    ...{ ...RUN, key, lane: key },
    source: { kind: 'run', parent, callId: key.split('#').at(-1) ?? '' },
  });
  await journal.commit([
    { kind: 'run', run: RUN },
    { kind: 'run', run: child('job/7/1000#a', RUN.key) },
    { kind: 'run', run: child('job/7/1000#a#b', 'job/7/1000#a') },
  ]);
  const [row] = await journal.waiting('job/7/1000#a#b', 1);
  expect(row?.source).toEqual({ kind: 'run', parent: 'job/7/1000#a', callId: 'b' });
});

test('what a claim writes is written with its end, and nothing of it once the claim is gone', async () => {
  await using dir = await tempDir();
  await using at = await opened(dir);
  const { journal } = at;
  const row = await begin(journal, 1);
  const claim = { seq: row.seq, generation: row.generation };
  const spent = { kind: 'usage', entry: usage('u1', clock.now()) } as const;
  expect(await journal.commit([spent, { kind: 'line', line: line('a') }], { ...claim, generation: 9 })).toBe(false);
  expect(await journal.usage(0)).toEqual([]);
  const one = part('p', { part: outbound({ key: 'p' }) });
  const end = { state: 'DONE', outcome: 'answered' } as const;
  expect(await journal.commit([{ kind: 'line', line: line('a') }, { kind: 'part', part: one }, spent], { ...claim, end })).toBe(
    true,
  );
  expect(await journal.unflushed(9)).toMatchObject([{ session: row.session, lines: [{ line: { id: 'a' } }] }]);
  expect(await journal.part('p')).toMatchObject({ state: 'PENDING' });
  expect(await journal.usage(0)).toHaveLength(1);
  expect(await journal.commit([{ kind: 'line', line: line('b') }], claim)).toBe(false);
});

test('a write that cannot be made takes the others of its commit with it', async () => {
  await using dir = await tempDir();
  await using at = await opened(dir);
  const { journal } = at;
  await expect(
    journal.commit([
      { kind: 'run', run: RUN },
      { kind: 'line', line: line('a') },
    ]),
  ).rejects.toThrow();
  expect(await journal.waiting('job/7', 9)).toEqual([]);
  expect(await journal.commit([{ kind: 'run', run: RUN }])).toBe(true);
  expect(await journal.waiting('job/7', 9)).toHaveLength(1);
});
