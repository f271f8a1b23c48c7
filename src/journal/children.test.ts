import { expect, test } from 'vitest';
import type { Journal } from '../core/journal.ts';
import type { NewRun, Report } from '../core/new-run.ts';
import type { RunRow } from '../core/run.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { BOUNDS } from '../testing/journal-harness.ts';
import { begin, done, LANE, SESSION, stopLane } from '../testing/journal-rows.ts';
import { type OpenedJournal, openJournal } from './open.ts';

function child(of: RunRow, callId: string, report?: Report): NewRun {
  const own = `${SESSION}#run:${callId}`;
  return {
    ...{ key: `${of.key}#${callId}`, source: { kind: 'run', parent: of.key, callId }, profile: 'subagent' },
    ...{ lane: own, session: own, authority: of.authority },
    prompt: { text: 'dig', media: [], at: '', limits: { maxTokens: 10 }, child: { label: 'dig', ...(report ? { report } : {}) } },
  };
}

const reportTo = ({ authority }: RunRow): Report => ({ lane: LANE, session: SESSION, authority, since: 0 });

async function opened(): Promise<AsyncDisposable & { readonly open: () => Promise<Journal> }> {
  const dir = await tempDir();
  const clock = new FakeClock();
  const all: OpenedJournal[] = [];
  return {
    async open() {
      const next = await openJournal({ dir: dir.path, clock });
      all.push(next);
      return next.journal;
    },
    async [Symbol.asyncDispose]() {
      for (const one of all) await one[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

async function claimed(journal: Journal, lane: string): Promise<RunRow> {
  const [row] = await journal.waiting(lane, 1);
  const found = row && (await journal.claim(row.seq));
  if (!found) throw new Error(`nothing waits in ${lane}`);
  return found;
}

test('sub-agents are counted by conversation and by tree, those that are over by tree alone', async () => {
  await using rig = await opened();
  const journal = await rig.open();
  const parent = await begin(journal, 1);
  await journal.commit(['a', 'b', 'c'].map((call) => ({ kind: 'run', run: child(parent, call) }) as const));
  const first = await claimed(journal, `${SESSION}#run:a`);
  expect(await journal.children.counts(parent.key, SESSION)).toEqual({ open: 3, ofTree: 3, tokensOfTree: 30 });
  await journal.finish({ ...done(first), result: { ok: true, output: 'x' } });
  expect(await journal.children.counts(parent.key, SESSION)).toEqual({ open: 2, ofTree: 3, tokensOfTree: 30 });
  expect(await journal.children.counts(parent.key, `${SESSION}#other`)).toMatchObject({ open: 0 });
  expect(await journal.children.counts('gone', SESSION)).toEqual({ open: 2, ofTree: 0, tokensOfTree: 0 });
});

test('the end of one in the background makes one run that tells its conversation, with what that has read', async () => {
  await using rig = await opened();
  const journal = await rig.open();
  const parent = await begin(journal, 1);
  await journal.commit([{ kind: 'run', run: child(parent, 'a', reportTo(parent)) }]);
  const row = await claimed(journal, `${SESSION}#run:a`);
  await journal.finish(done(parent));
  const ended = { ...done(row), result: { ok: true, output: 'gold' }, taint: 2 };
  expect([await journal.finish(ended), await journal.finish(ended)]).toEqual([true, false]);
  const waiting = await journal.waiting(LANE, 10);
  expect(waiting.map(({ key, taint, profile }) => [key, taint, profile])).toEqual([[`${parent.key}#a#report`, 2, 'session']]);
  expect(waiting[0]?.message === undefined && waiting[0]?.prompt.text).toMatch(
    /^\[The sub-agent “dig”, .* has ended\..*\n\ngold$/s,
  );
});

test('one that is given up at a start is told of as failed, one that is stopped is not told of', async () => {
  await using rig = await opened();
  let journal = await rig.open();
  const parent = await begin(journal, 1);
  const run = child(parent, 'a', reportTo(parent));
  await journal.commit([
    { kind: 'run', run },
    { kind: 'run', run: child(parent, 'b', reportTo(parent)) },
  ]);
  await journal.finish(done(parent));
  await journal.commit([{ kind: 'cancel', run: `${parent.key}#b` }]);
  for (let n = 0; n < BOUNDS.maxAttempts; n += 1) {
    await claimed(journal, run.lane);
    journal = await rig.open();
    await journal.recover(BOUNDS, () => []);
  }
  const waiting = await journal.waiting(LANE, 10);
  expect(waiting.map(({ key }) => key)).toEqual([`${run.key}#report`]);
  expect(waiting[0]?.message === undefined && waiting[0]?.prompt.text).toContain('has failed');
});

test('a stop in its conversation ends one in the background, although no run waits for it', async () => {
  await using rig = await opened();
  const journal = await rig.open();
  const parent = await begin(journal, 1);
  await journal.commit([{ kind: 'run', run: child(parent, 'a', reportTo(parent)) }]);
  await journal.finish(done(parent));
  await stopLane(journal);
  expect(await journal.prompted.of(`${parent.key}#a`)).toMatchObject({ state: 'DONE', outcome: 'cancelled' });
  expect((await journal.counts()).inbox).toMatchObject({ NEW: 0, RUNNING: 0 });
});
