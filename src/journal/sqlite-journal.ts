import type { Chats } from '../core/chats.ts';
import type { Claim, Write } from '../core/commit.ts';
import type { DeadLetter } from '../core/dead-letters.ts';
import type { GoneTopics } from '../core/gone-topics.ts';
import type { Jobs } from '../core/job.ts';
import type { Journal, JournalCounts, Recovery } from '../core/journal.ts';
import type { SpendingGroup, SpendingQuery, UsageEntry } from '../core/ledger.ts';
import type { NewPart, OutboxRow, Settlement, StoredPart } from '../core/outbox.ts';
import type { Processes } from '../core/process.ts';
import type { PromptedRuns } from '../core/prompted-run.ts';
import type { Taking } from '../core/queueing.ts';
import type { EventRecord } from '../core/record.ts';
import type { Accepted, Admission, RunRow, TurnResult } from '../core/run.ts';
import type { Load } from '../core/runs.ts';
import type { StepRecord } from '../core/step.ts';
import type { Children } from '../core/sub-agents.ts';
import type { TaskRows } from '../core/task.ts';
import type { Waits } from '../core/wait.ts';
import { acceptBatch, type CursorMove } from './admission.ts';
import { chatsOf } from './chats.ts';
import { childCounts, tokenUse } from './children.ts';
import { commitAll, commitClaim, wokenBy } from './commit.ts';
import type { Change, CommitQueue } from './commit-queue.ts';
import { countAll } from './counts.ts';
import { dropDead, listDead, replayDead, showDead } from './dead-letters.ts';
import { eventRecordOf } from './event-record.ts';
import { filesInUse } from './files-in-use.ts';
import { goneTopicsOf } from './gone-topics.ts';
import { countJobs, dueJobs, earliestJob, getJob, jobFired, listJobs } from './jobs.ts';
import { loadOf, loadWithin } from './load.ts';
import { LocalWakeup } from './local-wakeup.ts';
import { addParts, countSentFor, findPart, markSending, pendingParts, relayedParts } from './outbox.ts';
import type { OutsideChanges } from './outside-changes.ts';
import { leftProcesses } from './processes.ts';
import { promptedRun } from './prompted-runs.ts';
import { readWaits } from './read-waits.ts';
import type { RecordWriter } from './record-writer.ts';
import { type BuryNotice, type RecoveryBounds, recoverAll, workLanes } from './recovery.ts';
import type { Room } from './room.ts';
import { cancelledRows, claimRow, releaseRow, waitingRows } from './runs.ts';
import { dropLines, type UnflushedSession, unflushedLines } from './session-lines.ts';
import { settlePart } from './settle-part.ts';
import { spendingOf } from './spending.ts';
import { recordedSteps, recordStep } from './steps.ts';
import type { Store } from './store.ts';
import { takeRows } from './taking.ts';
import { readTasks } from './tasks.ts';
import { addUsage, usageSince } from './usage.ts';
import { loseQuestion } from './waits.ts';

export interface SqliteJournalParts {
  readonly store: Store;
  readonly queue: CommitQueue;
  readonly room: Room;
  readonly outside: OutsideChanges;
  readonly record: RecordWriter;
  readonly close: () => Promise<void>;
}

/**
 * The port on one SQLite file: every method is one operation of its own file, queued as a write or run as a
 * read.
 */
export class SqliteJournal implements Journal {
  readonly bootId: string;
  readonly wakeup = new LocalWakeup();
  readonly chats: Chats;
  readonly tasks: TaskRows;
  readonly waits: Waits;
  readonly record: EventRecord;
  readonly #parts: SqliteJournalParts;
  readonly #store: Store;
  readonly #queue: CommitQueue;

  constructor(parts: SqliteJournalParts) {
    this.#parts = parts;
    this.#store = parts.store;
    this.#queue = parts.queue;
    this.chats = chatsOf(parts.store, parts.queue);
    this.bootId = parts.store.bootId;
    this.tasks = readTasks(parts.store, parts.queue);
    this.waits = readWaits(parts.store, parts.queue);
    this.record = eventRecordOf(parts.store, parts.queue, parts.record);
  }

  async accept(
    batch: readonly Admission[],
    cursor?: CursorMove,
    onCommit?: (accepted: readonly Accepted[]) => void,
  ): Promise<readonly Accepted[]> {
    using _reserved = this.#parts.room.reserve(batch.filter(({ kind }) => kind === 'admit').length);
    return await this.#waking((change) => acceptBatch(this.#store, batch, cursor, change), onCommit);
  }

  room(): number {
    return this.#parts.room.left;
  }

  load(of: 'lane' | 'sender' | 'all' | 'outbox', key: string, principal?: string): Load {
    return principal === undefined ? loadOf(this.#store.db, of, key) : loadWithin(this.#store.db, key, principal);
  }

  cursor(channel: string, account: string): Promise<string | undefined> {
    const sql = 'SELECT value FROM cursor WHERE channel = ? AND account = ?';
    return this.#queue.read(() => this.#store.db.get<{ value: string }>(sql, channel, account)?.value);
  }

  waiting(lane: string, limit: number, afterSeq = 0): Promise<readonly RunRow[]> {
    return this.#queue.peek(() => waitingRows(this.#store, lane, limit, afterSeq));
  }

  claim(seq: number, onCommit?: (row: RunRow | undefined) => void, taking?: Taking): Promise<RunRow | undefined> {
    const store = this.#store;
    return this.#queue.write((change) => claimRow(store, seq, taking && (() => takeRows(store, seq, taking, change))), onCommit);
  }

  release(seq: number, generation: number): Promise<boolean> {
    return this.#queue.write(() => releaseRow(this.#store, seq, generation));
  }

  cancelled(seqs: readonly number[]): Promise<readonly number[]> {
    return this.#queue.peek(() => cancelledRows(this.#store, seqs));
  }

  steps(seq: number): Promise<readonly StepRecord[]> {
    return this.#queue.peek(() => recordedSteps(this.#store, seq));
  }

  step(seq: number, generation: number, record: StepRecord, usage?: UsageEntry): Promise<boolean> {
    return this.#queue.write(() => recordStep(this.#store, seq, generation, record, usage));
  }

  async commit(writes: readonly Write[], claim?: Claim): Promise<boolean> {
    const done = await this.#waking((change) => commitAll(this.#store, writes, claim, change));
    if (done) for (const { what, lane } of wokenBy(writes, claim)) this.wakeup.notify(what, lane);
    return done;
  }

  async sessionOf({ seq, session }: Pick<RunRow, 'seq' | 'session'>): Promise<string | undefined> {
    if (!this.#store.restarted.has(session)) return session;
    const sql = 'SELECT session FROM run WHERE seq = ?';
    return await this.#queue.peek(() => this.#store.db.get<{ session: string }>(sql, seq)?.session);
  }

  /** A write by which runs that waited may go on: who runs them is told once it is on disk. */
  async #waking<T>(run: (change: Change) => T, onCommit?: (value: T) => void): Promise<T> {
    let changed: Pick<Change, 'woken' | 'told'> | undefined;
    const result = await this.#queue.write((change) => {
      changed = change;
      return run(change);
    }, onCommit);
    for (const lane of changed?.woken ?? []) this.wakeup.notify('run', lane);
    for (const lane of changed?.told ?? []) this.wakeup.notify('part', lane);
    // What follows from the answer to a question may have to be done at once.
    if ((changed?.told.size ?? 0) > 0) this.wakeup.notify('wait', '');
    return result;
  }

  /** The runner tells delivery of the parts of an answer itself, once they can be seen. */
  async finish(result: TurnResult, onCommit?: (session: string) => void): Promise<boolean> {
    const { lines, parts } = result;
    const of = result.session === undefined ? {} : { session: result.session };
    const writes: readonly Write[] = [
      ...lines.map((line) => ({ kind: 'line', ...of, line }) as const),
      ...parts.map((part) => ({ kind: 'part', part }) as const),
    ];
    const claim = claimOf(result);
    const finish = (change: Change): string | undefined => commitClaim(this.#store, writes, claim, change);
    const done = await this.#waking(finish, (own) => own !== undefined && onCommit?.(result.session ?? own));
    if (done === undefined) return false;
    for (const { what, lane } of wokenBy([], claim)) this.wakeup.notify(what, lane);
    return true;
  }

  unflushed(limit: number, afterSeq = 0): Promise<readonly UnflushedSession[]> {
    return this.#queue.read(() => unflushedLines(this.#store, limit, afterSeq));
  }

  flushed(seqs: readonly number[]): Promise<void> {
    return this.#queue.write(() => dropLines(this.#store, seqs));
  }

  enqueue(parts: readonly NewPart[]): Promise<void> {
    return this.#queue.write(() => addParts(this.#store, parts));
  }

  sentFor(reader: string, since: number): Promise<number> {
    return this.#queue.read(() => countSentFor(this.#store, reader, since));
  }

  part(key: string): Promise<StoredPart | undefined> {
    return this.#queue.read(() => findPart(this.#store, key));
  }

  relayed(chat: string): Promise<readonly Pick<StoredPart, 'part' | 'platformId'>[]> {
    return this.#queue.peek(() => relayedParts(this.#store, chat));
  }

  filesInUse(): Promise<ReadonlySet<string>> {
    return this.#queue.read(() => filesInUse(this.#store));
  }

  pending(lane: string, limit: number): Promise<readonly OutboxRow[]> {
    return this.#queue.peek(() => pendingParts(this.#store, lane, limit));
  }

  sending(seq: number): Promise<boolean> {
    return this.#queue.write(() => markSending(this.#store, seq));
  }

  async settle(seq: number, settlement: Settlement): Promise<void> {
    const lanes = await this.#waking((change) => {
      const woken = settlePart(this.#store, seq, settlement);
      if (settlement.kind === 'dead' || settlement.kind === 'expired') loseQuestion(this.#store, seq, change);
      return woken;
    });
    for (const lane of lanes) this.wakeup.notify('part', lane);
  }

  recover(bounds: RecoveryBounds, notice: BuryNotice): Promise<Recovery> {
    return this.#waking((change) => recoverAll(this.#store, bounds, notice, change));
  }

  counts(): Promise<JournalCounts> {
    return this.#queue.read(() => countAll(this.#store));
  }

  work(): Promise<Pick<Recovery, 'lanes' | 'outboxLanes'>> {
    return this.#queue.read(() => workLanes(this.#store));
  }

  readonly dead = {
    list: (): Promise<readonly DeadLetter[]> => this.#queue.read(() => listDead(this.#store)),
    show: (id: string): Promise<DeadLetter | undefined> => this.#queue.read(() => showDead(this.#store, id)),
    replay: (id: string): Promise<boolean> => this.#queue.write((change) => replayDead(this.#store, id, change)),
    drop: (id: string): Promise<boolean> => this.#queue.write(() => dropDead(this.#store, id)),
  };

  readonly jobs: Jobs = {
    list: () => this.#queue.read(() => listJobs(this.#store)),
    get: (id) => this.#queue.read(() => getJob(this.#store, id)),
    due: (now, limit) => this.#queue.read(() => dueJobs(this.#store, now, limit)),
    earliest: () => this.#queue.read(() => earliestJob(this.#store)),
    fired: (id, due) => this.#queue.read(() => jobFired(this.#store, id, due)),
    counts: () => this.#queue.read(() => countJobs(this.#store)),
  };

  readonly children: Children = {
    counts: (run, session, except) => this.#queue.peek(() => childCounts(this.#store, run, session, except)),
    tokens: (run) => this.#queue.read(() => tokenUse(this.#store, run)),
  };

  get goneTopics(): GoneTopics {
    return goneTopicsOf(this.#store, this.#queue);
  }

  readonly prompted: PromptedRuns = { of: (key) => this.#queue.read(() => promptedRun(this.#store, key)) };

  readonly processes: Processes = { left: () => this.#queue.read(() => leftProcesses(this.#store)) };

  usage(since: number): Promise<readonly UsageEntry[]> {
    return this.#queue.read(() => usageSince(this.#store, since));
  }

  spending(query: SpendingQuery): Promise<readonly SpendingGroup[]> {
    return this.#queue.read(() => spendingOf(this.#store, query));
  }

  spend(entry: UsageEntry): Promise<void> {
    return this.#queue.write(() => addUsage(this.#store, entry));
  }

  onOutsideChange(listener: () => void): void {
    this.#parts.outside.listen(listener);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.close();
  }
}

function claimOf({ seq, generation, lines: _, parts: __, ...end }: TurnResult): Claim {
  const { state, ms, taint, notes, waits = [], historyTo = '', outcome, result } = end;
  const common = {
    ...(ms === undefined ? {} : { ms }),
    ...(taint === undefined ? {} : { taint }),
    ...(notes === undefined ? {} : { notes }),
  };
  if (state === 'PARKED') return { seq, generation, end: { state, outcome: 'parked', waits, historyTo, ...common } };
  return { seq, generation, end: { state, outcome, ...common, ...(result ? { result } : {}) } };
}
