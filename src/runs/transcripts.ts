/** Sessions as the turns read and change them. How their lines get into the files: `line-mover.ts`. */
import { isCompacted } from '../agent/compact.ts';
import type { Commits } from '../core/commit.ts';
import { isArchived, sessionOfArchive } from '../core/ids.ts';
import type { SessionLines } from '../core/journal.ts';
import type { Clock } from '../core/ports.ts';
import type { EndedRun } from '../core/run.ts';
import type { Session, SessionChoices, SessionMessage, SessionStore } from '../core/session.ts';
import { KeyedMutex } from '../lib/keyed-mutex.ts';
import { behindLastCut, headerOf, newestKept, titleOf, withLines } from './cuts.ts';
import { LineMover } from './line-mover.ts';
import { orderLines } from './order-lines.ts';

export interface TranscriptsOptions {
  readonly journal: SessionLines & Commits;
  readonly store: SessionStore;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/**
 * Sessions as the turns see them: the file plus the lines that a finished turn committed and that are still
 * on their way into the file.
 */
export class Transcripts implements AsyncDisposable {
  /** One turn of a session, or one change of its lines, at a time. */
  readonly sessions = new KeyedMutex();
  readonly #options: TranscriptsOptions;
  readonly #parts = new AsyncDisposableStack();
  readonly #mover: LineMover;
  #erased = 0;

  constructor(options: TranscriptsOptions) {
    this.#options = options;
    this.#mover = new LineMover(options);
  }

  /** How often lines were taken out of files while this works: what was counted before may be otherwise. */
  get erased(): number {
    return this.#erased;
  }

  /**
   * At least the `newest` messages of the session, oldest first; absent: all of them. The caller holds the
   * session's mutex.
   */
  async load(session: string, newest?: number): Promise<readonly SessionMessage[]> {
    if (isArchived(session)) return await this.#loadArchive(session);
    // Before the file is read: lines that are moved meanwhile are then in the one or in the other.
    const waiting = this.#mover.waiting(session);
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
    await this.#mover.moveAll();
    // What a summary stands for is there too.
    const stored = (await this.#options.store.archived(sessionOfArchive(session))).filter((line) => !isCompacted(line));
    return [...stored, ...this.#mover.waiting(session)];
  }

  /** The first words of the session; undefined where no person said anything in it. As `load`. */
  async title(session: string): Promise<string | undefined> {
    const summary =
      this.#mover.waiting(session).length > 0 ? undefined : (await this.#options.store.load(session, 1))?.header.summary;
    return summary || titleOf(await this.load(session));
  }

  /** What the session chose under a version that kept it there. As `load`. */
  async choices(session: string): Promise<SessionChoices> {
    return (await this.#options.store.load(session, 1))?.header ?? {};
  }

  /** Called after the turn's commit with the lines it wrote. */
  committed(session: string, lines: readonly SessionMessage[]): void {
    this.#mover.committed(session, lines);
  }

  /** As `committed`, of runs that a commit ended: its lines and what it noted of them elsewhere. */
  ended(runs: readonly EndedRun[]): void {
    for (const { row, lines, note } of runs) {
      this.committed(row.session, lines);
      if (note) this.committed(note.session, [note.line]);
    }
  }

  /**
   * Moves what there is into the files now: at start and at the end. Never rejects and never waits for a disk
   * to recover: what cannot be moved is reported and stays in the journal.
   */
  async flush(): Promise<void> {
    await this.#mover.flush();
  }

  /**
   * `/new`: archives the session and keeps its newest `keep` messages, and no yes that was given for it.
   * Returns how many stayed. The caller holds the session's mutex. Rejects when the session's own lines
   * cannot be moved into its file first.
   */
  async restart(session: string, keep: number): Promise<number> {
    await this.#options.journal.commit([{ kind: 'end-grants', session }]);
    await this.#mover.moveAllOf(session);
    return await this.#mover.withoutAppends(session, () => this.#rewrite(session, keep));
  }

  async #rewrite(session: string, keep: number): Promise<number> {
    const messages = orderLines((await this.#options.store.load(session))?.messages ?? []);
    // What is in the file and left here would come back after the rewrite; what a run beside this one left
    // meanwhile is not in it.
    this.#mover.forget(session, new Set(messages.map(({ id }) => id)));
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
    await this.#mover.moveAllOf(session);
    // A round of its own: nothing is appended between the reading and the writing.
    await this.#mover.inRound(async () => {
      const lines = orderLines((await this.#options.store.load(session))?.messages ?? []);
      // They are in the file; one left here would come back once it is no longer there.
      this.#mover.forget(session, new Set(lines.map(({ id }) => id)));
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
    await this.#mover.moveAllOf(session);
    await this.#mover.inRound(async () => {
      const lines = (await this.#options.store.load(session))?.messages ?? [];
      await this.#options.store.remove(session);
      this.#mover.forget(session, new Set(lines.map(({ id }) => id)));
    });
  }

  /**
   * As `SessionStore.fork`; returns how many messages the new one has. The caller holds the mutexes of both.
   * Rejects as `restart` does.
   */
  async fork(session: string, target: string, keep: number): Promise<number> {
    await this.#mover.moveAllOf(session);
    return (await this.#mover.inRound(() => this.#options.store.fork(session, target, keep))).messages.length;
  }

  /** Is closed first when these are: it still writes lines. */
  closeFirst(part: AsyncDisposable): void {
    this.#parts.use(part);
  }

  /**
   * Runs `work` while no line moves into a file, after all have moved that could; what waits of these
   * sessions here is forgotten. The caller holds the mutex of each of them, and takes their lines out of the
   * journal or their files.
   */
  async apart(sessions: readonly string[], work: () => Promise<void>): Promise<void> {
    await this.flush();
    await this.#mover.inRound(async () => {
      await work();
      this.#erased += 1;
      for (const session of sessions) this.#mover.forget(session);
    });
  }

  /**
   * Ends the background work after one last round; what cannot be moved into its file stays in the journal.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync();
    await this.#mover[Symbol.asyncDispose]();
  }
}
