/**
 * What SQLite reads for each statement on the way of a message: rows that an index names, never a whole
 * table.
 */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Claim } from '../core/commit.ts';
import { draftKey } from '../core/ids.ts';
import type { Journal } from '../core/journal.ts';
import type { NewRun } from '../core/new-run.ts';
import type { Admission, Cancels, RunRow } from '../core/run.ts';
import { FakeClock, inbound, outbound, tempDir } from '../testing/fakes.ts';
import { BOUNDS } from '../testing/journal-harness.ts';
import { admit, begin, done, LANE, line, message, part, refuse, SESSION, usage } from '../testing/journal-rows.ts';
import { createPrivateFile, Database, type SqlValue } from './database.ts';
import { journalOn, type OpenedJournal } from './open.ts';
import { migrate } from './schema.ts';

/** Knows what was asked of it, and in which part of a message's way. */
class WatchedDatabase extends Database {
  readonly asked = new Map<string, readonly [sql: string, doing: string]>();
  doing: string | undefined;

  override run(sql: string, ...values: readonly SqlValue[]): number {
    this.#note(sql);
    return super.run(sql, ...values);
  }

  override insert(sql: string, ...values: readonly SqlValue[]): number {
    this.#note(sql);
    return super.insert(sql, ...values);
  }

  override get<Row>(sql: string, ...values: readonly SqlValue[]): Row | undefined {
    this.#note(sql);
    return super.get<Row>(sql, ...values);
  }

  override all<Row>(sql: string, ...values: readonly SqlValue[]): Row[] {
    this.#note(sql);
    return super.all<Row>(sql, ...values);
  }

  override each<Row>(sql: string, ...values: readonly SqlValue[]): IterableIterator<Row> {
    this.#note(sql);
    return super.each<Row>(sql, ...values);
  }

  #note(sql: string): void {
    if (this.doing === undefined || !/^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(sql)) return;
    this.asked.set(`${this.doing}: ${sql}`, [sql, this.doing]);
  }
}

const clock = new FakeClock();

function stop(n: string, cancels: Cancels, threadId?: string): Admission {
  const thread = threadId === undefined ? {} : { threadId };
  const session = threadId === undefined ? SESSION : `${SESSION}#thread:${threadId}`;
  return { kind: 'answer', message: message(n, thread), lane: LANE, session, outcome: 'stop', parts: [part(n)], cancels };
}

async function accept({ journal }: OpenedJournal): Promise<void> {
  const cursor = { channel: 'test', account: 'bot', value: '1' };
  const again = inbound({ platformId: 'm-1', secondaryId: 'mail-1', text: 'text 1' });
  const same = message('same', { kind: 'edit', targetId: 'm-1', text: 'other' });
  const edit = message('edit', { kind: 'edit', targetId: 'm-1', text: 'other' });
  const gone = message('gone', { kind: 'delete', targetId: 'm-2' });
  await journal.accept([admit(message(1)), admit(message(2)), admit(again), refuse(message(3), 'not-mentioned')], cursor);
  await journal.accept([admit(edit), admit(gone)]);
  const begun = await begin(journal, 'begun');
  await journal.accept([admit(message('late', { kind: 'edit', targetId: 'm-begun', text: 'text begun' })), admit(same)]);
  await journal.finish(done(begun));
  await journal.accept([
    { ...admit(message('e2', { kind: 'edit', targetId: 'm-9' })), onlyCorrects: 'not-mentioned' } as Admission,
  ]);
  journal.load('lane', LANE);
  journal.load('lane', LANE, 'test:ada');
  await journal.cursor('test', 'bot');
  await journal.chats.firstAccount('test');
  await journal.chats.of(LANE);
}

async function turn(journal: Journal): Promise<RunRow> {
  const [row] = await journal.waiting(LANE, 8);
  const claimed = await journal.claim(row?.seq ?? 0);
  if (!claimed) throw new Error('nothing could be claimed');
  const { seq, generation } = claimed;
  await journal.steps(seq);
  await journal.step(seq, generation, { n: 0, kind: 'model', state: 'DONE', value: {} }, usage('call-1', clock.now()));
  await journal.step(seq, generation, { n: 1, kind: 'tool', callId: 'c', state: 'STARTED', tool: 'pay', effect: 'outside' });
  await journal.step(seq, generation, { n: 1, kind: 'tool', callId: 'c', state: 'DONE', value: {} });
  await journal.waits.parked(SESSION, 6);
  await journal.waits.of(seq);
  await journal.part(draftKey(claimed.key));
  await journal.finish(done(claimed, [part('a'), part('b')], [line('l1')]));
  return claimed;
}

async function park(journal: Journal): Promise<void> {
  const { seq, generation, key } = await begin(journal, 'parks');
  const timer = { callId: 't', kind: 'timer', about: 'a while', due: clock.now() + 1, late: { ok: true, output: '' } } as const;
  const signal = { callId: 's', kind: 'signal', about: 'budget/x/1' } as const;
  const about = { text: 'May I?', answer: 'approve', to: 'owner', by: [], expiresAt: 9e15 } as const;
  const person = { callId: 'p', kind: 'person', about, asked: { code: 'EFGH', parts: [] } } as const;
  const end = { state: 'PARKED', outcome: 'parked', waits: [timer, signal, person], historyTo: '', ms: 5 } as const;
  await journal.commit([], { seq, generation, end } satisfies Claim);
  await journal.waits.questions(LANE);
  await journal.waits.byCode('ABCD');
  await journal.waits.granted({ principal: 'p', session: SESSION, tool: 't', rule: 'r', digest: 'd' });
  await journal.commit([{ kind: 'end-grants', session: SESSION }]);
  await journal.waits.earliest();
  await journal.waits.due(clock.now(), 10);
  await journal.commit([{ kind: 'settle', settled: { wait: `${key}#t`, value: { ok: true, output: '' }, by: 'timer' } }]);
  await journal.commit([{ kind: 'settle', settled: { wait: `${key}#p`, value: { ok: true, output: '' }, by: 'owner' } }]);
  await journal.commit([{ kind: 'settle', settled: { wait: 'budget/x/1', value: { ok: true, output: '' }, by: 'owner' } }]);
}

/** A run that waits for one that it began. */
async function delegate(journal: Journal): Promise<void> {
  const parent = await begin(journal, 'delegates');
  const { seq, generation, key, session, authority } = parent;
  const child: NewRun = {
    ...{ key: `${key}#c`, source: { kind: 'run', parent: key, callId: 'c' }, profile: 'subagent' },
    ...{ lane: `${session}#run:c`, session: `${session}#run:c`, authority },
    prompt: { text: 'do this', media: [], at: '2026-11-22T00:00:00Z' },
  };
  const waits = [{ callId: 'c', kind: 'run', about: child }] as const;
  await journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '', ms: 5 } });
  await journal.children.tokens(parent);
  const [row] = await journal.waiting(child.lane, 1);
  const begun = await journal.claim(row?.seq ?? 0);
  if (begun) await journal.finish({ ...done(begun), result: { ok: true, output: 'found' } });
}

async function send(journal: Journal): Promise<void> {
  await journal.enqueue([part('new', { part: outbound({ key: 'new', supersedes: 'a' }) })]);
  await journal.sentFor('test:ben', 0);
  const [first, second, third] = await journal.pending(LANE, 16);
  for (const row of [first, second, third]) await journal.sending(row?.seq ?? 0);
  await journal.settle(first?.seq ?? 0, { kind: 'sent', platformId: 'p', replaces: 'a' });
  await journal.tasks.taintTold(LANE, 'p');
  await journal.settle(second?.seq ?? 0, { kind: 'retry', notBefore: 0, reason: '429', asNew: true });
  await journal.settle(third?.seq ?? 0, { kind: 'unknown', reason: 'timeout' });
}

async function stopAll({ journal }: OpenedJournal): Promise<void> {
  await journal.accept([stop('s1', { where: 'lane', stoppedMark: ' (stopped)' })]);
  await journal.accept([stop('s2', { where: 'chat', stoppedMark: ' (stopped)' }, 't')]);
}

async function pair({ pairing }: OpenedJournal): Promise<void> {
  const who = { channel: 'test', account: 'bot', senderId: 'eve', senderName: 'Eve', chatId: 'chat-1' };
  await pairing.decided(who);
  await pairing.isBlocked(who);
  for (const wait of [0, 1, 600_001]) await pairing.request(who, clock.now() + wait);
}

async function onTheWay() {
  const dir = await tempDir();
  const path = join(dir.path, 'journal.db');
  await createPrivateFile(path);
  const db = new WatchedDatabase(path, { busyMs: 0 });
  migrate(db);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  const opened = journalOn(db, { clock, remains: () => ({ lines: [], tools: [] }) });
  const { journal } = opened;
  const steps: Readonly<Record<string, () => Promise<unknown>>> = {
    accept: () => accept(opened),
    turn: () => turn(journal),
    wait: () => park(journal),
    'run of a run': () => delegate(journal),
    transcript: async () => journal.flushed((await journal.unflushed(500)).flatMap(({ lines }) => lines.map(({ seq }) => seq))),
    send: () => send(journal),
    stop: () => stopAll(opened),
    pairing: () => pair(opened),
    recovery: () => journal.recover({ ...BOUNDS, stoppedMark: ' (stopped)' }, () => []),
    'look again': () => journal.work(),
    'files in use': () => journal.filesInUse(),
  };
  for (const [name, step] of Object.entries(steps)) {
    db.doing = name;
    await step();
  }
  db.doing = undefined;
  return {
    db,
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

type Asked = readonly (readonly [sql: string, doing: string])[];

/** Statements that read more than what they are about, or that need an index that is not there. */
function wasteful(db: Database, asked: Asked, without = ''): readonly string[] {
  return asked.flatMap(([sql, doing]) => {
    try {
      // Of a text that was not compiled before: the plan of a compiled one does not follow the schema.
      const plan = db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql} /* without ${without} */`);
      return plan.filter(({ detail }) => isWaste(sql, doing, detail)).map(({ detail }) => `${doing}: ${detail}: ${sql}`);
    } catch (error) {
      return [`${doing}: ${String(error)}: ${sql}`];
    }
  });
}

const NO_TABLE = /^SCAN (CONSTANT ROW|tree|\(subquery-\d+\)|json_each .*)$/;
/** Partial indices that hold what is under way, and nothing else. */
const UNDER_WAY =
  /^SCAN \w+ USING (COVERING )?INDEX (run_new|run_running|run_parked|run_parked_lane|outbox_pending|outbox_sending)$/;

function isWaste(sql: string, doing: string, detail: string): boolean {
  // A start looks at all that is under way.
  const isStart = doing === 'recovery' || doing === 'look again' || doing === 'files in use';
  if (detail.startsWith('SCAN ')) return !NO_TABLE.test(detail) && !(isStart && UNDER_WAY.test(detail));
  // All rows of one state: of every chat, or of all days.
  const isWholeState = / USING INDEX \w+_settled \(state=\?\)$/.test(detail);
  return isWholeState && doing !== 'files in use' && (!isStart || /state = '(DONE|DEAD|SENT)'/.test(sql));
}

/** A code of a question that is over, or of none: typed by hand, and by people who are let in. */
const KNOWN = /^wait: SCAN wait: .* WHERE code = \? AND state = 'SETTLED'/s;

it('no statement on the way of a message, of a stop, of a stranger or of a start reads a table as a whole', async () => {
  await using at = await onTheWay();
  const asked = [...at.db.asked.values()];
  expect(new Set(asked.map(([, doing]) => doing)).size).toBe(11);
  const found = wasteful(at.db, asked);
  expect(found.filter((one) => !KNOWN.test(one))).toEqual([]);
  expect(found).toHaveLength(1);
});

it.each([
  ...['run_new', 'run_running', 'run_parked', 'run_parked_lane', 'run_key', 'run_parent', 'run_corrects', 'run_settled'],
  ...['outbox_pending', 'wait_about', 'wait_due', 'wait_chat', 'wait_code', 'usage_at'],
])('that is noticed: without the index %s a statement would read a table as a whole', async (index) => {
  await using at = await onTheWay();
  const { db } = at;
  db.exec(`BEGIN; DROP INDEX ${index}`);
  expect(wasteful(db, [...db.asked.values()], index).length).toBeGreaterThan(1);
  db.exec('ROLLBACK');
});
