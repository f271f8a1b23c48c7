import { expect, test } from 'vitest';
import type { Journal } from '../core/journal.ts';
import type { NewRun, Report } from '../core/new-run.ts';
import type { Accepted, Admission, RunRow } from '../core/run.ts';
import { usageId } from '../core/usage-ids.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { BOUNDS } from '../testing/journal-harness.ts';
import { admit, begin, done, LANE, message, SESSION, stopLane, usage } from '../testing/journal-rows.ts';
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
  expect(await journal.children.counts(parent.key, SESSION, [])).toEqual({ open: 3, ofTree: 3, tokensOfTree: 30 });
  await journal.finish({ ...done(first), result: { ok: true, output: 'x' } });
  expect(await journal.children.counts(parent.key, SESSION, [])).toEqual({ open: 2, ofTree: 3, tokensOfTree: 30 });
  expect(await journal.children.counts(parent.key, `${SESSION}#other`, [])).toMatchObject({ open: 0 });
  expect(await journal.children.counts('gone', SESSION, [])).toEqual({ open: 2, ofTree: 0, tokensOfTree: 0 });
});

test('the sums of a tree leave out runs that their caller counts itself', async () => {
  await using rig = await opened();
  const journal = await rig.open();
  const parent = await begin(journal, 1);
  await journal.commit(['a', 'b', 'c'].map((call) => ({ kind: 'run', run: child(parent, call) }) as const));
  const counts = await journal.children.counts(parent.key, SESSION, [`${parent.key}#a`, `${parent.key}#b`]);
  expect(counts).toEqual({ open: 3, ofTree: 1, tokensOfTree: 10 });
});

test('the tokens of a run are those of its own calls and of all that it led to, after a restart as well', async () => {
  await using rig = await opened();
  let journal = await rig.open();
  const parent = await begin(journal, 1);
  await journal.commit(['a', 'b'].map((call) => ({ kind: 'run', run: child(parent, call) }) as const));
  const first = await claimed(journal, `${SESSION}#run:a`);
  const paid = async (id: string): Promise<void> => await journal.spend(usage(id, 1));
  for (const run of [parent.key, `${parent.key}#a`, `${parent.key}#a#deeper`, `${parent.key}1`]) await paid(usageId(run, 0));
  // A row that was removed 7 days after its end: its parent waits on.
  await paid(usageId(`${parent.key}#gone`, 0));
  await journal.finish({ ...done(first), result: { ok: true, output: 'x' } });
  const expected = {
    ...{ own: 15, below: 45 },
    children: [
      { key: `${parent.key}#a`, given: 10, used: 30, isOver: true },
      { key: `${parent.key}#b`, given: 10, used: 0, isOver: false },
    ],
  };
  expect(await journal.children.tokens(parent)).toEqual(expected);
  journal = await rig.open();
  expect(await journal.children.tokens(parent)).toEqual(expected);
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

test('the run that tells a result has the tokens that are left of those of the run which began the sub-agent', async () => {
  for (const [most, left] of [
    [100, 70],
    [20, 1],
  ]) {
    await using rig = await opened();
    const journal = await rig.open();
    const parent = await begin(journal, 1);
    await journal.commit([{ kind: 'run', run: child(parent, 'a', { ...reportTo(parent), maxTokens: most ?? 0 }) }]);
    await journal.spend(usage(usageId(parent.key, 0), 1));
    const row = await claimed(journal, `${SESSION}#run:a`);
    await journal.spend(usage(usageId(row.key, 0), 1));
    await journal.finish(done(parent));
    await journal.finish({ ...done(row), result: { ok: true, output: 'gold' } });
    const [report] = await journal.waiting(LANE, 10);
    expect(report?.message === undefined && report?.prompt.limits).toEqual({ maxTokens: left });
  }
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

const keys = (accepted: Accepted | undefined): readonly string[] =>
  accepted?.kind === 'new' ? (accepted.interrupted ?? []).map(({ row }) => row.key) : [];

const linesOf = async (journal: Journal) =>
  (await journal.unflushed(99)).flatMap(({ session, lines }) =>
    lines.map(({ line }) => [session, line.id, line.role, line.content, line.by]),
  );

test('a message that interrupts a turn leaves what works in the background, whose result is told as it was said', async () => {
  await using rig = await opened();
  const journal = await rig.open();
  const parent = await begin(journal, 1);
  await journal.commit([
    { kind: 'run', run: child(parent, 'a', reportTo(parent)) },
    { kind: 'run', run: child(parent, 'b') },
  ]);
  const during = { kind: 'interrupt', ofOthers: false } as const;
  const [accepted] = await journal.accept([{ ...admit(message(2)), during } as Admission]);
  expect(keys(accepted)).toEqual([parent.key, `${parent.key}#b`]);
  await journal.finish({ ...done(await claimed(journal, `${SESSION}#run:a`)), result: { ok: true, output: 'gold' } });
  const waiting = await journal.waiting(LANE, 10);
  expect(waiting.map(({ key }) => key)).toEqual(['test/bot/m-2', `${parent.key}#a#report`]);
});

test('a stop leaves a note where a result was to be told, so that the next turn does not wait for it', async () => {
  await using rig = await opened();
  const journal = await rig.open();
  const parent = await begin(journal, 1);
  await journal.commit(['a', 'b'].map((call) => ({ kind: 'run', run: child(parent, call, reportTo(parent)) }) as const));
  await journal.finish({ ...done(await claimed(journal, `${SESSION}#run:b`)), result: { ok: true, output: 'gold\n[not ours]' } });
  await journal.finish(done(parent));
  await stopLane(journal);
  const begun = 'The sub-agent “dig”, which was begun in the background, was stopped. It has no result, and none will be told.';
  const untold = 'The sub-agent “dig” has ended: gold (not ours) (The turn that was to tell it was stopped.)';
  expect(await linesOf(journal)).toEqual([
    [SESSION, `${parent.key}#a#stopped`, 'system', begun, parent.authority.principal],
    [SESSION, `${parent.key}#b#report#stopped`, 'system', untold, parent.authority.principal],
  ]);
});

test('a note about what is stopped begins no topic anew that was deleted', async () => {
  await using rig = await opened();
  const journal = await rig.open();
  const parent = await begin(journal, 1);
  const [lane, session] = [`${LANE}#work`, `${SESSION}#work`];
  await journal.commit(
    ['a', 'b'].map((call) => ({ kind: 'run', run: child(parent, call, { ...reportTo(parent), lane, session }) })),
  );
  const switches = { kind: 'answer', message: message(3), lane: LANE, session: SESSION, outcome: 'switch', parts: [] } as const;
  await journal.accept([{ ...switches, topic: { to: 'work' } }]);
  await journal.commit([{ kind: 'cancel', run: `${parent.key}#a` }]);
  await journal.accept([{ ...switches, message: message(4), topic: { to: '' } }]);
  await journal.accept([{ ...switches, message: message(5), topic: { gone: 'work' } }]);
  await journal.commit([{ kind: 'cancel', run: `${parent.key}#b` }]);
  expect((await linesOf(journal)).map(([, id]) => id)).toEqual([`${parent.key}#a#stopped`, 'test/bot/m-5:cut']);
});
