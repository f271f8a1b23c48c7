// journal (session lines of finished turns) -> JSONL file, synced -> lines cleared in the journal
import { isArchived, isOfOneRun, sessionOfArchive } from '../core/ids.ts';
import type { SessionLines } from '../core/journal.ts';
import type { Clock } from '../core/ports.ts';
import type { SessionMessage, SessionStore } from '../core/session.ts';
import { BoundedQueue } from '../lib/bounded-queue.ts';
import { appendWithCuts } from './cuts.ts';
import { orderLines } from './order-lines.ts';

/**
 * Lines moved per round: bounds memory, and how long one round holds the journal's reader. Doubled after each
 * round that was full, up to the most: more lines of a backlog share a sync of their file, so that it
 * shrinks.
 */
const BATCH = 500;
const MOST_IN_BATCH = 4_000;
/**
 * Lines of several turns share one write and sync of their file: the journal already made them durable, so
 * nothing waits for this.
 */
const GATHER_MS = 1_000;
const RETRY_MS = 5_000;
/**
 * Files written at once. The thread pool has four threads and turns need some of them; nothing waits for
 * this.
 */
const WRITERS = 2;

type SessionBatch = Awaited<ReturnType<SessionLines['unflushed']>>[number];

/** Sessions that could not be written in this pass, each with its lines in the order written. */
type Failed = Map<string, readonly SessionMessage[]>;

export interface LineMoverOptions {
  readonly journal: SessionLines;
  readonly store: SessionStore;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/**
 * Moves the lines that turns committed from the journal into the files of their sessions. Moving a line is
 * idempotent (by its id), so a kill between the file's sync and the journal's clearing repeats nothing. A
 * file that cannot be written keeps its own lines waiting and no other session's.
 */
export class LineMover implements AsyncDisposable {
  readonly #options: LineMoverOptions;
  readonly #closing = new AbortController();
  readonly #writers = new BoundedQueue(WRITERS);
  /** Committed lines that are not in their file yet. */
  readonly #pending = new Map<string, readonly SessionMessage[]>();
  /** Sessions whose last append failed, with the reason. */
  readonly #stuck = new Map<string, unknown>();
  /** The end of the last round: rounds follow each other, because a session has one writer at a time. */
  #lastRound: Promise<unknown> = Promise.resolve();
  /** Sessions whose file is being made anew: what is appended meanwhile would be lost. */
  readonly #rewriting = new Set<string>();
  #moving: Promise<void> | undefined;
  #again = false;

  constructor(options: LineMoverOptions) {
    this.#options = options;
  }

  /** Committed lines of the session that are not in its file yet. */
  waiting(session: string): readonly SessionMessage[] {
    return this.#pending.get(session) ?? [];
  }

  /** Called after the turn's commit with the lines it wrote. */
  committed(session: string, lines: readonly SessionMessage[]): void {
    if (lines.length === 0) return;
    this.#pending.set(session, [...this.waiting(session), ...lines]);
    this.#again = true;
    this.#moving ??= this.#moveSoon();
  }

  /**
   * One pass over all that the journal holds, in rounds. Lines that cannot be moved are passed by until the
   * next pass, so that they hold up no other session. Rejects when the journal fails.
   */
  async moveAll(): Promise<void> {
    const failed: Failed = new Map();
    let size = BATCH;
    for (let after: number | undefined = 0; after !== undefined; size = Math.min(size * 2, MOST_IN_BATCH)) {
      const [from, most]: [number, number] = [after, size];
      after = await this.inRound(() => this.#moveBatch(from, most, failed));
    }
  }

  /** Rounds follow each other: while `work` runs, no line moves. */
  inRound<T>(work: () => Promise<T>): Promise<T> {
    const round = this.#lastRound.then(work);
    this.#lastRound = round.catch(() => undefined);
    return round;
  }

  /** As `moveAll`. Rejects also when the session's own lines cannot be moved into its file. */
  async moveAllOf(session: string): Promise<void> {
    await this.moveAll();
    if (this.#stuck.has(session)) throw this.#stuck.get(session);
  }

  /** As `moveAll`, but what fails is reported. */
  async flush(): Promise<void> {
    try {
      await this.moveAll();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /**
   * Runs `work`, which makes the session's file anew, while lines move into the files of the others alone.
   */
  async withoutAppends<T>(session: string, work: () => Promise<T>): Promise<T> {
    this.#rewriting.add(session);
    try {
      await this.#lastRound;
      return await work();
    } finally {
      this.#rewriting.delete(session);
    }
  }

  /**
   * Of the session's lines that wait, these; absent: all of them. They are in the file, or are to be in none.
   */
  forget(session: string, moved?: ReadonlySet<string>): void {
    const left = moved ? this.waiting(session).filter((line) => !moved.has(line.id)) : [];
    if (left.length > 0) this.#pending.set(session, left);
    else this.#pending.delete(session);
  }

  /** Ends the background work after one last round; what cannot be moved stays in the journal. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('transcripts closed'));
    await this.#moving;
    await this.flush();
  }

  async #moveSoon(): Promise<void> {
    const { clock, onError } = this.#options;
    const { signal } = this.#closing;
    while (this.#again && !signal.aborted) {
      this.#again = false;
      try {
        await clock.sleep(GATHER_MS, signal);
        await this.moveAll();
        if (this.#stuck.size === 0) continue;
      } catch (error) {
        if (signal.aborted) break;
        onError(error);
      }
      this.#again = true;
      await clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
    this.#moving = undefined;
  }

  /** Returns where the next round goes on; undefined at the end. */
  async #moveBatch(after: number, size: number, failed: Failed): Promise<number | undefined> {
    const { journal } = this.#options;
    const batch = await journal.unflushed(size, after);
    const deletedAt = deletionsIn(batch);
    const moved: (typeof batch)[number][] = [];
    // Lines of an archive stand behind those that the session's own mark moves there.
    for (const isLast of [false, true]) {
      const some = batch.filter(({ session }) => isArchived(session) === isLast);
      const results = await Promise.all(
        some.map((one) => this.#writers.run(() => this.#append(one.session, withoutDeleted(one, deletedAt), failed))),
      );
      moved.push(...some.filter((_, index) => results[index]));
    }
    const seqs = moved.flatMap(({ lines }) => lines.map(({ seq }) => seq));
    if (seqs.length > 0) await journal.flushed(seqs);
    for (const { session, lines } of moved) this.forget(session, new Set(lines.map(({ line }) => line.id)));
    const read = batch.flatMap(({ lines }) => lines.map(({ seq }) => seq));
    return read.length < size ? undefined : Math.max(...read);
  }

  /**
   * False when the session's file could not be written; its lines are kept at hand then, of an earlier
   * process too.
   */
  async #append(session: string, entries: readonly { readonly line: SessionMessage }[], failed: Failed): Promise<boolean> {
    const lines = orderLines(entries.map(({ line }) => line));
    if (failed.has(session) || this.#rewriting.has(session)) return this.#keep(session, lines, failed);
    try {
      const { store } = this.#options;
      if (isArchived(session)) await store.archive(sessionOfArchive(session), lines);
      else if (lines.some(({ cut }) => cut)) await appendWithCuts(store, session, lines);
      else await store.append(session, lines);
      this.#stuck.delete(session);
      if (isOfOneRun(session)) store.release(session);
      return true;
    } catch (error) {
      if (!this.#stuck.has(session)) this.#options.onError(error);
      this.#stuck.set(session, error);
      return this.#keep(session, lines, failed);
    }
  }

  #keep(session: string, lines: readonly SessionMessage[], failed: Failed): false {
    const kept = [...(failed.get(session) ?? []), ...lines];
    failed.set(session, kept);
    const known = new Set(kept.map(({ id }) => id));
    // What was committed since this pass read the journal.
    const newer = this.waiting(session).filter(({ id }) => !known.has(id));
    this.#pending.set(session, [...kept, ...newer]);
    return false;
  }
}

/** By session, the seq of the newest mark that deletes it. */
function deletionsIn(batch: readonly SessionBatch[]): ReadonlyMap<string, number> {
  const marks = batch.flatMap(({ session, lines }) =>
    lines.filter(({ line }) => line.cut?.gone).map(({ seq }) => [session, seq] as const),
  );
  return new Map(marks);
}

/**
 * What was left for the archive of a session before that was deleted goes with it: the files are gone by
 * now, and would come back.
 */
function withoutDeleted({ session, lines }: SessionBatch, deletedAt: ReadonlyMap<string, number>): SessionBatch['lines'] {
  const at = isArchived(session) ? deletedAt.get(sessionOfArchive(session)) : undefined;
  return at === undefined ? lines : lines.filter(({ seq }) => seq > at);
}
