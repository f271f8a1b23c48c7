// journal (session lines of finished turns) -> JSONL file, synced -> lines cleared in the journal
import { isCompacted } from '../agent/compact.ts';
import type { Commits } from '../core/commit.ts';
import { isArchived, sessionOfArchive } from '../core/ids.ts';
import type { SessionLines } from '../core/journal.ts';
import type { Clock } from '../core/ports.ts';
import type { Session, SessionChoices, SessionMessage, SessionStore } from '../core/session.ts';
import { BoundedQueue } from '../lib/bounded-queue.ts';
import { KeyedMutex } from '../lib/keyed-mutex.ts';
import { appendWithCuts, behindLastCut, headerOf, newestKept, titleOf, withLines } from './cuts.ts';
import { orderLines } from './order-lines.ts';

/** Lines moved per round: bounds memory, and how long one round holds the journal's reader. */
const BATCH = 500;
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

/** Sessions that could not be written in this pass, each with its lines in the order written. */
type Failed = Map<string, readonly SessionMessage[]>;

export interface TranscriptsOptions {
  readonly journal: SessionLines & Commits;
  readonly store: SessionStore;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/**
 * Sessions as the turns see them: the file plus the lines that a finished turn committed and that are still
 * on their way into the file. Moving a line is idempotent (by its id), so a kill between the file's sync and
 * the journal's clearing repeats nothing. A file that cannot be written keeps its own lines waiting and no
 * other session's.
 */
export class Transcripts implements AsyncDisposable {
  /** One turn of a session, or one change of its lines, at a time. */
  readonly sessions = new KeyedMutex();
  readonly #options: TranscriptsOptions;
  readonly #closing = new AbortController();
  readonly #parts = new AsyncDisposableStack();
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

  constructor(options: TranscriptsOptions) {
    this.#options = options;
  }

  /**
   * At least the `newest` messages of the session, oldest first; absent: all of them. The caller holds the
   * session's mutex.
   */
  async load(session: string, newest?: number): Promise<readonly SessionMessage[]> {
    if (isArchived(session)) return await this.#loadArchive(session);
    // Before the file is read: lines that are moved meanwhile are then in the one or in the other.
    const waiting = this.#pending.get(session) ?? [];
    const isCut = waiting.some(({ cut }) => cut);
    const stored: Session | undefined = await this.#options.store.load(session, isCut ? undefined : newest);
    const messages = stored?.messages ?? [];
    const pending = isCut ? behindLastCut(waiting, stored?.header) : waiting;
    const known = new Set(messages.map(({ id }) => id));
    // Lines reach the file in order: what stands before one that is there is there, too.
    const inFile = pending.findLastIndex(({ id }) => known.has(id)) + 1;
    return orderLines(withLines(messages, pending.slice(inFile)));
  }

  /** What the session was before it began anew. Its lines go there first: they are in no other place. */
  async #loadArchive(session: string): Promise<readonly SessionMessage[]> {
    await this.#moveAll();
    // What a summary stands for is there too.
    const stored = (await this.#options.store.archived(sessionOfArchive(session))).filter((line) => !isCompacted(line));
    return [...stored, ...(this.#pending.get(session) ?? [])];
  }

  /** The first words of the session; undefined where no person said anything in it. As `load`. */
  async title(session: string): Promise<string | undefined> {
    const summary = this.#pending.has(session) ? undefined : (await this.#options.store.load(session, 1))?.header.summary;
    return summary || titleOf(await this.load(session));
  }

  /** What the session chose under a version that kept it there. As `load`. */
  async choices(session: string): Promise<SessionChoices> {
    return (await this.#options.store.load(session, 1))?.header ?? {};
  }

  /** Called after the turn's commit with the lines it wrote. */
  committed(session: string, lines: readonly SessionMessage[]): void {
    if (lines.length === 0) return;
    this.#pending.set(session, [...(this.#pending.get(session) ?? []), ...lines]);
    this.#again = true;
    this.#moving ??= this.#moveSoon();
  }

  /**
   * Moves what there is into the files now: at start and at the end. Never rejects and never waits for a disk
   * to recover: what cannot be moved is reported and stays in the journal.
   */
  async flush(): Promise<void> {
    try {
      await this.#moveAll();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /**
   * `/new`: archives the session and keeps its newest `keep` messages, and no yes that was given for it.
   * Returns how many stayed. The caller holds the session's mutex. Rejects when the session's own lines cannot be moved into its file first.
   */
  async restart(session: string, keep: number): Promise<number> {
    await this.#options.journal.commit([{ kind: 'end-grants', session }]);
    await this.#moveAll();
    if (this.#stuck.has(session)) throw this.#stuck.get(session);
    this.#rewriting.add(session);
    try {
      await this.#lastRound;
      return await this.#rewrite(session, keep);
    } finally {
      this.#rewriting.delete(session);
    }
  }

  async #rewrite(session: string, keep: number): Promise<number> {
    const messages = orderLines((await this.#options.store.load(session))?.messages ?? []);
    // What is in the file and left here would come back after the rewrite; what a run beside this one left
    // meanwhile is not in it.
    this.#forget(session, new Set(messages.map(({ id }) => id)));
    const kept = newestKept(messages, keep);
    if (messages.length > 0) await this.#options.store.rewrite(session, kept, headerOf(session, kept));
    return kept.length;
  }

  /**
   * Puts what `change` makes of the session's lines in their place; undefined = they stay. The lines as they
   * were are in the archive before, so a kill leaves the old ones or the new ones. Lines that are committed
   * meanwhile come behind. The caller holds the session's mutex. Rejects as `restart` does.
   */
  async replace(
    session: string,
    change: (lines: readonly SessionMessage[]) => readonly SessionMessage[] | undefined,
  ): Promise<void> {
    await this.#moveAll();
    if (this.#stuck.has(session)) throw this.#stuck.get(session);
    // A round of its own: nothing is appended between the reading and the writing.
    await this.#inRound(async () => {
      const lines = (await this.#options.store.load(session))?.messages ?? [];
      // They are in the file; one left here would come back once it is no longer there.
      this.#forget(session, new Set(lines.map(({ id }) => id)));
      const changed = change(lines);
      if (changed) await this.#options.store.rewrite(session, changed);
    });
  }

  /**
   * Removes the session with its archive, and every yes that was given for it. What is committed meanwhile
   * begins it anew. The caller holds the session's mutex. Rejects as `restart` does.
   */
  async remove(session: string): Promise<void> {
    await this.#options.journal.commit([{ kind: 'end-grants', session }]);
    await this.#moveAll();
    if (this.#stuck.has(session)) throw this.#stuck.get(session);
    await this.#inRound(async () => {
      const lines = (await this.#options.store.load(session))?.messages ?? [];
      await this.#options.store.remove(session);
      this.#forget(session, new Set(lines.map(({ id }) => id)));
    });
  }

  /**
   * As `SessionStore.fork`; returns how many messages the new one has. The caller holds the mutexes of both.
   * Rejects as `restart` does.
   */
  async fork(session: string, target: string, keep: number): Promise<number> {
    await this.#moveAll();
    if (this.#stuck.has(session)) throw this.#stuck.get(session);
    return (await this.#inRound(() => this.#options.store.fork(session, target, keep))).messages.length;
  }

  /** Is closed first when these are: it still writes lines. */
  closeFirst(part: AsyncDisposable): void {
    this.#parts.use(part);
  }

  /**
   * Runs `work` while no line moves into a file, after all have moved that could; what waits of these sessions
   * here is forgotten. The caller holds the mutex of each of them, and takes their lines out of the journal or
   * their files.
   */
  async apart(sessions: readonly string[], work: () => Promise<void>): Promise<void> {
    await this.flush();
    await this.#inRound(async () => {
      await work();
      for (const session of sessions) this.#pending.delete(session);
    });
  }

  /**
   * Ends the background work after one last round; what cannot be moved into its file stays in the journal.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync();
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
        await this.#moveAll();
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

  /**
   * One pass over all that the journal holds, in rounds. Lines that cannot be moved are passed by until the
   * next pass, so that they hold up no other session. Rejects when the journal fails.
   */
  async #moveAll(): Promise<void> {
    const failed: Failed = new Map();
    for (let after: number | undefined = 0; after !== undefined; ) {
      const from: number = after;
      after = await this.#inRound(() => this.#moveBatch(from, failed));
    }
  }

  #inRound<T>(work: () => Promise<T>): Promise<T> {
    const round = this.#lastRound.then(work);
    this.#lastRound = round.catch(() => undefined);
    return round;
  }

  /** Returns where the next round goes on; undefined at the end. */
  async #moveBatch(after: number, failed: Failed): Promise<number | undefined> {
    const { journal } = this.#options;
    const batch = await journal.unflushed(BATCH, after);
    const moved: (typeof batch)[number][] = [];
    // Lines of an archive stand behind those that the session's own mark moves there.
    for (const isLast of [false, true]) {
      const some = batch.filter(({ session }) => isArchived(session) === isLast);
      const results = await Promise.all(
        some.map(({ session, lines }) => this.#writers.run(() => this.#append(session, lines, failed))),
      );
      moved.push(...some.filter((_, index) => results[index]));
    }
    const seqs = moved.flatMap(({ lines }) => lines.map(({ seq }) => seq));
    if (seqs.length > 0) await journal.flushed(seqs);
    for (const { session, lines } of moved) this.#forget(session, new Set(lines.map(({ line }) => line.id)));
    const read = batch.flatMap(({ lines }) => lines.map(({ seq }) => seq));
    return read.length < BATCH ? undefined : Math.max(...read);
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
    const newer = (this.#pending.get(session) ?? []).filter(({ id }) => !known.has(id));
    this.#pending.set(session, [...kept, ...newer]);
    return false;
  }

  #forget(session: string, moved: ReadonlySet<string>): void {
    const left = (this.#pending.get(session) ?? []).filter((line) => !moved.has(line.id));
    if (left.length > 0) this.#pending.set(session, left);
    else this.#pending.delete(session);
  }
}
