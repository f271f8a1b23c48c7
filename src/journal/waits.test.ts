import { expect, test } from 'vitest';
import type { Claim, Park } from '../core/commit.ts';
import { FORGET } from '../core/erasure.ts';
import { partKey, sentForId } from '../core/ids.ts';
import type { Journal } from '../core/journal.ts';
import type { Json } from '../core/message.ts';
import type { NewRun } from '../core/new-run.ts';
import type { Settlement } from '../core/outbox.ts';
import type { Accepted, Admission, Cancels, RunRow } from '../core/run.ts';
import { type NewWait, type Question, reminderId, type Settles, waitId } from '../core/wait.ts';
import { FakeClock, outbound, tempDir } from '../testing/fakes.ts';
import { BOUNDS, pendingKeys, texts } from '../testing/journal-harness.ts';
import { admit, begin, LANE, message, part, SESSION } from '../testing/journal-rows.ts';
import { openJournal } from './open.ts';

const YES = { ok: true, output: 'allow' };
const NO = { ok: true, output: 'deny' };

function child(of: RunRow, callId: string): NewRun {
  return {
    key: `${of.key}#${callId}`,
    source: { kind: 'run', parent: of.key, callId },
    profile: 'subagent',
    lane: `${of.session}#run:${callId}`,
    session: `${of.session}#run:${callId}`,
    prompt: { text: 'do this', media: [], at: '2026-11-22T00:00:00Z' },
    authority: of.authority,
  };
}

function question(override: Partial<Question> = {}): Question {
  return { text: 'May I?', answer: 'approve', to: 'owner', by: [], expiresAt: Date.UTC(2026, 0, 2), ...override };
}

function person(callId: string, code: string, chat = LANE): NewWait {
  const parts = [part(`ask/${code}`, { part: outbound({ key: `ask/${code}`, text: 'May I?' }) })];
  return { callId, kind: 'person', about: question(), asked: { code, chat, parts } };
}

function timer(callId: string, due: number): NewWait {
  return { callId, kind: 'timer', about: 'a while', due, late: { ok: true, output: 'waited' } };
}

async function park(journal: Journal, row: RunRow, waits: readonly NewWait[], more: Partial<Park> = {}): Promise<boolean> {
  const { seq, generation } = row;
  const end: Park = { state: 'PARKED', outcome: 'parked', waits, historyTo: '', ms: 5, ...more };
  return await journal.commit([], { seq, generation, end } satisfies Claim);
}

async function end(journal: Journal, row: RunRow, output: string): Promise<boolean> {
  const { seq, generation } = row;
  return await journal.commit([], { seq, generation, end: { state: 'DONE', outcome: 'answered', result: { ok: true, output } } });
}

function answer(n: string, settles: Settles): Admission {
  return {
    ...{ kind: 'answer', message: message(n), lane: LANE, session: SESSION, outcome: 'allow', parts: [part(`said ${n}`)] },
    settles,
  };
}

async function states(journal: Journal): Promise<string> {
  const { NEW, RUNNING, PARKED, DONE } = (await journal.counts()).inbox;
  return `${NEW} ${RUNNING} ${PARKED} ${DONE}`;
}

async function claimAll(journal: Journal, lane: string): Promise<RunRow> {
  const [row] = await journal.waiting(lane, 1);
  const claimed = row && (await journal.claim(row.seq));
  if (!claimed) throw new Error(`nothing waits in ${lane}`);
  return claimed;
}

async function setup() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const open = () => openJournal({ dir: dir.path, clock, remains: () => ({ lines: [], tools: [] }) });
  const first = await open();
  const opened = [first];
  return {
    ...{ clock, journal: first.journal, first },
    restart: async () => {
      const next = await open();
      opened.push(next);
      await next.journal.recover(BOUNDS, () => []);
      return next.journal;
    },
    [Symbol.asyncDispose]: async () => {
      for (const one of opened) await one[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('a park frees the lane, makes what it waits for in the same commit, and the last settlement brings the run back first', async () => {
  await using at = await setup();
  const { journal, clock } = at;
  const woken: string[] = [];
  using _listening = journal.wakeup.listen((what, lane) => woken.push(`${what} ${lane}`));
  const row = await begin(journal, 1);
  await journal.accept([admit(message(2))]);
  const room = journal.room();
  const [a, b] = [child(row, 'a'), child(row, 'b')];
  expect(
    await park(journal, row, [
      { callId: 'a', kind: 'run', about: a },
      { callId: 'b', kind: 'run', about: b },
      person('c', 'AAAAAA'),
      timer('d', clock.now() + 1_000),
    ]),
  ).toBe(true);
  expect(woken).toEqual([`run ${a.lane}`, `run ${b.lane}`, `part ${LANE}`, 'wait ']);
  expect([await states(journal), journal.room() - room]).toEqual(['3 0 1 0', -1]);
  expect((await journal.pending(LANE, 9)).map((one) => one.part.key)).toEqual(['ask/AAAAAA']);
  expect(await texts(journal)).toEqual(['text 2']);
  // Another person of the lane is answered meanwhile.
  await end(journal, await claimAll(journal, LANE), 'other');
  await end(journal, await claimAll(journal, b.lane), 'b is done');
  await journal.commit([{ kind: 'settle', settled: { wait: `${row.key}#c`, value: YES, by: 'test:owner' } }]);
  await journal.commit([{ kind: 'settle', settled: { wait: `${row.key}#d`, value: NO, by: 'due' } }]);
  expect(await texts(journal)).toEqual([]);
  await journal.accept([admit(message(3))]);
  woken.length = 0;
  await end(journal, await claimAll(journal, a.lane), 'a is done');
  expect(woken).toEqual([`run ${LANE}`]);
  expect(await texts(journal)).toEqual(['text 1', 'text 3']);
  const again = await claimAll(journal, LANE);
  expect(again).toMatchObject({ key: row.key, attempts: 1, generation: row.generation + 1, ranMs: 5, historyTo: '' });
  expect((await journal.waits.of(row.seq)).map(({ callId, isOpen, value, by }) => [callId, isOpen, value?.output, by])).toEqual([
    ['a', false, 'a is done', a.key],
    ['b', false, 'b is done', b.key],
    ['c', false, 'allow', 'test:owner'],
    ['d', false, 'deny', 'due'],
  ]);
  const events = (await journal.record.of(row.key)).map(({ event }) => event.type);
  expect(events.filter((type) => type === 'parked' || type === 'settled')).toEqual(['parked', ...Array(4).fill('settled')]);
});

test('a wait ends once: whoever comes second changes nothing, and a person who answers again is told', async () => {
  await using at = await setup();
  const { journal } = at;
  const row = await begin(journal, 1);
  await park(journal, row, [person('c', 'AAAAAA')]);
  const said = (value: typeof YES): Settles => ({
    settled: { wait: `${row.key}#c`, value, by: 'test:owner' },
    over: (wait) => [part(`over ${wait.value?.output} by ${wait.by}`)],
  });
  const room = journal.room();
  const accepted = await journal.accept([answer('yes', said(YES)), answer('no', said(NO)), answer('yes', said(YES))]);
  expect(accepted.map(({ kind }) => kind)).toEqual(['answered', 'answered', 'duplicate']);
  expect(journal.room()).toBe(room - 1);
  expect((await journal.pending(LANE, 9)).map((one) => one.part.key)).toEqual([
    'ask/AAAAAA',
    'said yes',
    'over allow by test:owner',
  ]);
  expect((await journal.waits.byCode('AAAAAA'))?.value).toEqual(YES);
  expect(await journal.waits.byCode('BBBBBB')).toBeUndefined();
  expect(await states(journal)).toBe('1 0 0 2');
});

test('a claim that no longer stands parks nothing', async () => {
  await using at = await setup();
  const { journal } = at;
  const row = await begin(journal, 1);
  await journal.release(row.seq, row.generation);
  expect(await park(journal, row, [{ callId: 'a', kind: 'run', about: child(row, 'a') }])).toBe(false);
  expect([await states(journal), await journal.waits.of(row.seq)]).toEqual(['1 0 0 0', []]);
});

test('a signal ends all that wait for it, a question of no run is the signal of its id, and one that came before the park counts', async () => {
  await using at = await setup();
  const { journal } = at;
  const asked = { code: 'AAAAAA', chat: LANE, parts: [part('ask')] };
  const ask = { kind: 'ask', id: 'budget/day', question: question(), asked, late: NO } as const;
  await journal.commit([ask]);
  await journal.commit([{ ...ask, asked: { ...asked, code: 'BBBBBB', parts: [part('twice')] } }]);
  expect((await journal.waits.questions(LANE)).map(({ code, run, due }) => [code, run, due])).toEqual([
    ['AAAAAA', 0, question().expiresAt],
  ]);
  const rows = [];
  for (const n of [1, 2]) {
    const row = await begin(journal, n);
    rows.push(row);
    await park(journal, row, [{ callId: 'model/0', kind: 'signal', about: 'budget/day' }]);
  }
  expect(await states(journal)).toBe('0 0 2 0');
  const settled = { wait: 'budget/day', value: YES, by: 'test:owner' };
  await journal.commit([{ kind: 'settle', settled }]);
  expect(await states(journal)).toBe('2 0 0 0');
  for (const { seq } of rows) expect((await journal.waits.of(seq))[0]?.value).toEqual(YES);
  const late = await claimAll(journal, LANE);
  await park(journal, late, [{ callId: 'model/0', kind: 'signal', about: 'budget/day' }]);
  expect(await states(journal)).toBe('2 0 0 0');
  // The name alone is a signal, too.
  const third = await claimAll(journal, LANE);
  await park(journal, third, [{ callId: 'x', kind: 'signal', about: 'build/42' }]);
  await journal.commit([{ kind: 'settle', settled: { ...settled, wait: 'build/42' } }]);
  expect(await states(journal)).toBe('2 0 0 0');
});

test('of a question that says how many runs of one principal may wait for it, one more is denied at once', async () => {
  await using at = await setup();
  const { journal } = at;
  const asks = question({ most: 1 });
  await journal.commit([{ kind: 'ask', id: 'q', question: asks, asked: { code: 'AAAAAA', chat: LANE, parts: [] }, late: NO }]);
  const wait = { callId: 'model/0', kind: 'signal', about: 'q' } as const;
  const first = await begin(journal, 1);
  await park(journal, first, [wait]);
  const more = await begin(journal, 2);
  await park(journal, more, [wait]);
  expect((await journal.waits.of(more.seq)).map(({ value, by }) => [value, by])).toEqual([[NO, 'at once']]);
  expect(await states(journal)).toBe('1 0 1 0');
  expect((await journal.waits.of(first.seq))[0]?.isOpen).toBe(true);
});

test('what is asked for and refused at once is no reason to wait', async () => {
  await using at = await setup();
  const row = await begin(at.journal, 1);
  await park(at.journal, row, [{ callId: 'c', kind: 'person', about: question(), value: NO }]);
  expect([await states(at.journal), (await at.journal.waits.of(row.seq))[0]?.value]).toEqual(['1 0 0 0', NO]);
});

test('the dates of open waits are known, the earliest first', async () => {
  await using at = await setup();
  const { journal, clock } = at;
  expect(await journal.waits.earliest()).toBeUndefined();
  const now = clock.now();
  await park(journal, await begin(journal, 1), [timer('d', now + 2_000), timer('e', now + 1_000)]);
  expect(await journal.waits.earliest()).toBe(now + 1_000);
  expect((await journal.waits.due(now + 1_500, 9)).map(({ callId, late }) => [callId, late?.output])).toEqual([['e', 'waited']]);
  expect(await journal.waits.due(now + 9_000, 1)).toHaveLength(1);
});

test('a start leaves what is parked alone, however old and however often it was tried', async () => {
  await using at = await setup();
  const row = await begin(at.journal, 1);
  await park(at.journal, row, [person('c', 'AAAAAA')]);
  await at.clock.advance(BOUNDS.maxAgeMs * 3);
  const next = await at.restart();
  expect(await states(next)).toBe('0 0 1 0');
  await next.commit([{ kind: 'settle', settled: { wait: `${row.key}#c`, value: YES, by: 'cli' } }]);
  // Its age begins anew with the answer.
  const last = await at.restart();
  expect(await states(last)).toBe('1 0 0 0');
});

test('a child that is given up, and one that ends without a result, end the wait of its parent with a failure', async () => {
  await using at = await setup();
  const { journal } = at;
  const row = await begin(journal, 1);
  const [a, b] = [child(row, 'a'), child(row, 'b')];
  await park(journal, row, [
    { callId: 'a', kind: 'run', about: a },
    { callId: 'b', kind: 'run', about: b },
  ]);
  const { seq, generation } = await claimAll(journal, a.lane);
  await journal.finish({ seq, generation, state: 'DEAD', outcome: 'failed:GH2103', lines: [], parts: [] });
  await at.clock.advance(BOUNDS.maxAgeMs + 1);
  const next = await at.restart();
  expect((await next.dead.list()).map(({ channel, chatId, reason }) => [channel, chatId, reason])).toEqual([
    ['run', a.lane, 'failed:GH2103'],
    ['run', b.lane, 'too old'],
  ]);
  expect((await next.waits.of(row.seq)).map(({ value }) => value)).toEqual([
    { ok: false, output: 'Error: the run ended without a result (failed:GH2103)' },
    { ok: false, output: 'Error: the run ended without a result (too old)' },
  ]);
  expect(await texts(next)).toEqual(['text 1']);
});

const stop = (n: string, cancels: Cancels): Admission => ({
  ...{ kind: 'answer', message: message(n, { isGroup: true }), lane: LANE, session: SESSION, outcome: 'stop' },
  ...{ parts: [part('idle')], cancels },
});

function ended(accepted: readonly Accepted[]): readonly string[] {
  return accepted.flatMap((one) => (one.kind === 'answered' ? one.cancelled.map(({ row }) => row.key) : []));
}

test.each(['lane', 'chat'] as const)(
  'a stop for the %s ends the parked runs of the person with all that they began, fenced',
  async (where) => {
    await using at = await setup();
    const { journal } = at;
    const row = await begin(journal, 1);
    const [a, b] = [child(row, 'a'), child(row, 'b')];
    await park(journal, row, [
      { callId: 'a', kind: 'run', about: a },
      { callId: 'b', kind: 'run', about: b },
      person('c', 'AAAAAA'),
    ]);
    const running = await claimAll(journal, a.lane);
    const deep = child(running, 'deep');
    await park(journal, running, [{ callId: 'deep', kind: 'run', about: deep }]);
    const grandchild = await claimAll(journal, deep.lane);
    expect(ended(await journal.accept([stop('other', { where, principal: 'test:eve' })]))).toEqual([]);
    expect(ended(await journal.accept([stop('stop', { where, principal: row.authority.principal })]))).toEqual([
      row.key,
      ...[a.key, b.key],
      deep.key,
    ]);
    expect(await states(journal)).toBe('0 0 0 6');
    expect(await end(journal, grandchild, 'too late')).toBe(false);
    expect((await journal.waits.byCode('AAAAAA'))?.by).toBe('withdrawn');
    await journal.commit([{ kind: 'settle', settled: { wait: `${row.key}#c`, value: YES, by: 'test:owner' } }]);
    expect(await states(journal)).toBe('0 0 0 6');
  },
);

test('a stop reaches no parked run of another chat, and leaves a question of no run', async () => {
  await using at = await setup();
  const { journal } = at;
  await journal.commit([
    { kind: 'ask', id: 'budget/day', question: question(), asked: { code: 'AAAAAA', chat: LANE, parts: [] }, late: NO },
  ]);
  const other = message('other', { chatId: 'chat-1 2' });
  const place = { lane: 'test/bot/chat-1 2', session: '_main:test:chat-1 2' };
  await journal.accept([{ kind: 'admit', message: other, ...place }]);
  await park(journal, await claimAll(journal, place.lane), [{ callId: 'model/0', kind: 'signal', about: 'budget/day' }]);
  const own = await begin(journal, 1);
  await park(journal, own, [{ callId: 'model/0', kind: 'signal', about: 'budget/day' }]);
  expect(ended(await journal.accept([stop('stop', { where: 'chat' })]))).toEqual([own.key]);
  expect((await journal.waits.byCode('AAAAAA'))?.isOpen).toBe(true);
  expect(await journal.waits.parked('_main:test:chat-1 2')).toEqual([
    { key: 'test/bot/m-other', text: 'text other', kinds: ['signal'] },
  ]);
});

test('what was waited for goes with its run, questions of no run after a week', async () => {
  await using at = await setup();
  const { journal, clock, first } = at;
  const ask = { question: question(), late: NO } as const;
  await journal.commit([{ kind: 'ask', id: 'q', ...ask, asked: { code: 'AAAAAA', parts: [] } }]);
  await journal.commit([{ kind: 'settle', settled: { wait: 'q', value: YES, by: 'cli' } }]);
  const row = await begin(journal, 1);
  await park(journal, row, [timer('d', clock.now())]);
  const week = async (): Promise<void> => {
    for (let day = 0; day < 8; day += 1) {
      await clock.advance(86_400_000);
      await first.prune();
    }
  };
  await week();
  expect(await journal.waits.find('q')).toBeUndefined();
  expect(await journal.waits.of(row.seq)).toHaveLength(1);
  await journal.commit([{ kind: 'settle', settled: { wait: `${row.key}#d`, value: YES, by: 'due' } }]);
  await end(journal, await claimAll(journal, LANE), 'done');
  await week();
  expect(await journal.waits.of(row.seq)).toEqual([]);
});

const BEN = { channel: 'test', account: 'bot', chatId: 'ben' };
const TO_BEN = 'test/bot/ben';

function toBen(callId: string, code: string, keys: readonly string[]): NewWait {
  const parts = keys.map((key) => part(key, { lane: TO_BEN, part: outbound({ ...BEN, key }) }));
  return { callId, kind: 'person', about: question({ to: BEN, by: ['test:ben'] }), asked: { code, chat: TO_BEN, parts } };
}

const EARLY_ENDS: readonly (readonly [string, (journal: Journal, wait: string) => Promise<unknown>])[] = [
  ['what asked it is stopped', (journal) => journal.accept([stop('stop', { where: 'chat' })])],
  ['it is answered elsewhere', (journal, wait) => journal.commit([{ kind: 'settle', settled: { wait, value: YES, by: 'cli' } }])],
];

test.each(EARLY_ENDS)('a question that was not sent yet is not sent once %s', async (_title, over) => {
  await using at = await setup();
  const { journal } = at;
  const row = await begin(journal, 1);
  const wait = waitId(row.key, 'c');
  const keys = [wait, reminderId(wait), sentForId(wait), sentForId(reminderId(wait))].map((id) => partKey(id, 0));
  await park(journal, row, [toBen('c', 'AAAAAA', keys), toBen('c!', 'BBBBBB', [])]);
  await journal.enqueue([part('other', { lane: TO_BEN })]);
  // One is on its way, and is not sent again.
  const [first] = await journal.pending(TO_BEN, 1);
  await journal.sending(first?.seq ?? 0);
  await over(journal, wait);
  await journal.settle(first?.seq ?? 0, { kind: 'retry', notBefore: 0, reason: '429' });
  expect(await pendingKeys(journal, TO_BEN)).toEqual(['other']);
  expect(await journal.dead.list()).toEqual([]);
  const ends = (await journal.record.after(0, { limit: 99 })).map(({ event }) => event);
  expect(ends.flatMap((event) => (event.type === 'part.expired' ? [event.reason] : []))).toEqual(
    keys.map(() => 'not needed any more'),
  );
});

test('a part that an earlier version withdrew while it was being sent has the reason of that version', async () => {
  await using at = await setup();
  const { journal } = at;
  const withdrawn = { ...outbound({ key: 'a' }), withdrawn: 1 };
  await journal.enqueue([part('a', { part: withdrawn })]);
  const [row] = await journal.pending(LANE, 1);
  await journal.sending(row?.seq ?? 0);
  await journal.settle(row?.seq ?? 0, { kind: 'retry', notBefore: 0, reason: '429' });
  expect((await journal.record.after(0, { limit: 9 })).map(({ event }) => event)).toMatchObject([
    { type: 'part.expired', reason: 'withdrawn' },
  ]);
});

test('a question that is due, and was not sent, is left to its lane, which tells of it', async () => {
  await using at = await setup();
  const { journal } = at;
  const row = await begin(journal, 1);
  const wait = waitId(row.key, 'c');
  const key = partKey(sentForId(wait), 0);
  await park(journal, row, [toBen('c', 'AAAAAA', [key])]);
  await journal.commit([{ kind: 'settle', settled: { wait, value: NO, by: 'due' } }]);
  expect(await pendingKeys(journal, TO_BEN)).toEqual([key]);
});

test('a question that is asked again under its id, and surely did not arrive, is lost as the first one would be', async () => {
  await using at = await setup();
  const { journal } = at;
  const row = await begin(journal, 1);
  const wait = waitId(row.key, 'c!');
  const settleNext = async (settlement: Settlement): Promise<string | undefined> => {
    const [next] = await journal.pending(TO_BEN, 1);
    await journal.sending(next?.seq ?? 0);
    await journal.settle(next?.seq ?? 0, settlement);
    return next?.part.key;
  };
  await park(journal, row, [toBen('c!', 'AAAAAA', [partKey(wait, 0)])]);
  await settleNext({ kind: 'sent', platformId: 'p' });
  await journal.commit([{ kind: 'settle', settled: { wait, value: YES, by: 'test:ben' } }]);
  const again = await claimAll(journal, LANE);
  await park(journal, again, [toBen('c!', 'BBBBBB', [partKey(wait, 0)])]);
  expect(await settleNext({ kind: 'dead', reason: 'blocked: no' })).toBe(`${wait}#0~in${again.seq}.${again.generation}`);
  expect(await journal.waits.find(wait)).toMatchObject({ isOpen: false, by: 'lost' });
});

/**
 * Every order in which three children, a person who answers twice and a timer can end; a sample by a fixed
 * stride.
 */
function orders(of: readonly string[], every: number): readonly (readonly string[])[] {
  const all = of.reduce<readonly (readonly string[])[]>(
    (shorter, one) => shorter.flatMap((order) => order.map((_o, at) => order.toSpliced(at, 0, one)).concat([[...order, one]])),
    [[]],
  );
  return all.filter((_order, n) => n % every === 0);
}

test('in any order, with a restart between any two commits, the parent goes on exactly once', async () => {
  await using at = await setup();
  let { journal } = at;
  for (const [n, order] of orders(['a', 'b', 'c', 'yes', 'no', 'tick'], 72).entries()) {
    const row = await begin(journal, n);
    const children = ['a', 'b', 'c'].map((id) => child(row, `${n}${id}`));
    await park(journal, row, [
      ...children.map((about, i) => ({ callId: `${n}${'abc'[i]}`, kind: 'run', about }) as const),
      person('p', `CODE${n}`),
      timer('t', 0),
    ]);
    const settle = (wait: string, value: typeof YES, by: string) =>
      journal.commit([{ kind: 'settle', settled: { wait: `${row.key}#${wait}`, value, by } }]);
    let resumed = 0;
    for (const [step, event] of order.entries()) {
      if ((n + step) % 3 === 0) journal = await at.restart();
      const lane = children['abc'.indexOf(event)]?.lane;
      if (lane) await end(journal, await claimAll(journal, lane), event);
      else await settle(event === 'tick' ? 't' : 'p', event === 'no' ? NO : YES, event);
      const isNew = (await texts(journal)).includes(`text ${n}`);
      if (isNew) resumed += 1;
      if (isNew) await end(journal, await claimAll(journal, LANE), 'done');
    }
    expect([order, resumed, (await journal.counts()).inbox.PARKED]).toEqual([order, 1, 0]);
    expect((await journal.waits.byCode(`CODE${n}`))?.by).toBe(order.find((event) => event === 'yes' || event === 'no'));
  }
});

test('the history of a run that was parked is held until the run is over, and of its own session alone', async () => {
  await using at = await setup();
  const { journal } = at;
  const row = await begin(journal, 1);
  expect([await journal.waits.heldHistory(SESSION), (await journal.waits.unfinished(SESSION)).RUNNING]).toEqual([[], 1]);
  await park(journal, row, [person('q', 'ABCDEF')], { historyTo: 'l9' });
  expect([await journal.waits.heldHistory(SESSION), (await journal.waits.unfinished(SESSION)).PARKED]).toEqual([['l9'], 1]);
  await journal.commit([{ kind: 'settle', settled: { wait: `${row.key}#q`, value: YES, by: 'cli' } }]);
  expect([await journal.waits.heldHistory(SESSION), (await journal.waits.unfinished(SESSION)).NEW]).toEqual([['l9'], 1]);
  const again = await claimAll(journal, LANE);
  expect(await journal.waits.heldHistory(SESSION)).toEqual(['l9']);
  expect(await journal.waits.heldHistory('another')).toEqual([]);
  await end(journal, again, 'done');
  expect([await journal.waits.heldHistory(SESSION), await journal.waits.unfinished(SESSION)]).toEqual([
    [],
    { NEW: 0, RUNNING: 0, PARKED: 0 },
  ]);
});

test.each([
  ['yes', 2, YES],
  ['no', 2, NO],
  ['no', 7, NO],
])('the %s to a wish to be forgotten can be told for a day, though it comes after %i days', async (key, days, value) => {
  await using at = await setup();
  const { journal, clock } = at;
  const DAY = 86_400_000;
  const told = (name: string) => part(name, { expiresAt: clock.now() + DAY });
  const about = { who: { channel: 'test', senderId: 'eve' }, stoppedMark: '', allow: [told('yes')], deny: [told('no')] };
  const asks = question({ about: about as unknown as Json, expiresAt: clock.now() + 7 * DAY });
  const id = `${FORGET}test/bot/m-1`;
  await journal.commit([{ kind: 'ask', id, question: asks, asked: { code: 'AAAAAA', chat: 'x', parts: [] }, late: NO }]);
  await clock.advance(days * DAY);
  await journal.commit([{ kind: 'settle', settled: { wait: id, value, by: 'cli' } }]);
  expect((await journal.pending(LANE, 9)).map(({ part, expiresAt }) => [part.key, expiresAt])).toEqual([
    [key, clock.now() + DAY],
  ]);
});

test('a question to the owner that was not sent yet, in whichever chat, is not sent once what asked it is stopped', async () => {
  await using at = await setup();
  const { journal } = at;
  const row = await begin(journal, 1);
  const lane = 'test/bot/owner';
  const keys = ['ask/AAAAAA', 'ask/AAAAAA/2', 'ask/AAAAAA/reminder', 'ask/AAAAAB'].map((id) => `#owner/${id}#0`);
  const parts = keys.map((key) => part(key, { lane, part: outbound({ key }) }));
  const about = question({ to: 'owner', by: [] });
  await park(journal, row, [{ callId: 'c!', kind: 'person', about, asked: { code: 'AAAAAA', chat: lane, parts } }]);
  await journal.accept([stop('stop', { where: 'chat' })]);
  expect(await journal.waits.find(waitId(row.key, 'c!'))).toMatchObject({ isOpen: false });
  expect(await pendingKeys(journal, lane)).toEqual(['#owner/ask/AAAAAB#0']);
});
