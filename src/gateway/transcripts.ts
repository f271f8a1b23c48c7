// journal (session lines of finished turns) -> JSONL file, synced -> lines cleared in the journal
import type { Journal } from '../core/journal.ts';
import type { Clock } from '../core/ports.ts';
import type { Session, SessionMessage, SessionStore } from '../core/session.ts';

/** Lines moved per round: bounds memory, and how long one round holds the journal's reader. */
const BATCH = 500;
/** Lines of several turns share one write and sync of their file: the journal already made them durable, so nothing waits for this. */
const GATHER_MS = 1_000;
const RETRY_MS = 5_000;

type UnflushedLines = Awaited<ReturnType<Journal['unflushed']>>[number];

export interface TranscriptsOptions {
  readonly journal: Journal;
  readonly store: SessionStore;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/**
 * Sessions as the turns see them: the file plus the lines that a finished turn committed and that are still on their way into
 * the file. Moving a line is idempotent (by its id), so a kill between the file's sync and the journal's clearing repeats nothing.
 */
export class Transcripts implements AsyncDisposable {
  readonly #options: TranscriptsOptions;
  readonly #closing = new AbortController();
  readonly #pending = new Map<string, SessionMessage[]>();
  #moving: Promise<void> | undefined;
  #again = false;

  constructor(options: TranscriptsOptions) {
    this.#options = options;
  }

  /** The session's messages, oldest first. The caller holds the session's mutex. */
  async load(session: string): Promise<readonly SessionMessage[]> {
    const stored: Session | undefined = await this.#options.store.load(session);
    const pending = this.#pending.get(session);
    if (!pending) return stored?.messages ?? [];
    const known = new Set(stored?.messages.map((message) => message.id));
    return [...(stored?.messages ?? []), ...pending.filter((line) => !known.has(line.id))];
  }

  /** Called after the turn's commit with the lines it wrote. */
  committed(session: string, lines: readonly SessionMessage[]): void {
    if (lines.length === 0) return;
    this.#pending.set(session, [...(this.#pending.get(session) ?? []), ...lines]);
    this.#again = true;
    this.#moving ??= this.#moveSoon();
  }

  /** Moves everything there is into the files now: at start, before a rewrite of the session, at shutdown. */
  async flush(): Promise<void> {
    await this.#moving;
    while (await this.#moveBatch()) await Promise.resolve();
  }

  /** `/new`: archives the session and keeps its newest `keep` messages. Returns how many stayed. The caller holds the session's mutex. */
  async restart(session: string, keep: number): Promise<number> {
    await this.flush();
    const messages = (await this.#options.store.load(session))?.messages ?? [];
    let from = Math.max(0, messages.length - keep);
    // A tool result without its call is refused by every model: the cut moves on to where a message can stand alone.
    while (messages[from]?.role === 'tool') from += 1;
    const kept = messages.slice(from);
    if (messages.length > 0) await this.#options.store.rewrite(session, kept);
    return kept.length;
  }

  /** Ends the background work; what is not in its file stays in the journal. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('transcripts closed'));
    await this.#moving;
  }

  async #moveSoon(): Promise<void> {
    while (this.#again && !this.#closing.signal.aborted) {
      this.#again = false;
      try {
        await this.#options.clock.sleep(GATHER_MS, this.#closing.signal);
        // A full batch means that there is more: waiting before each would let a burst outrun the files.
        while (!this.#closing.signal.aborted && (await this.#moveBatch())) await Promise.resolve();
      } catch (error) {
        if (this.#closing.signal.aborted) break;
        this.#options.onError(error);
        this.#again = true;
        await this.#options.clock.sleep(RETRY_MS, this.#closing.signal).catch(() => undefined);
      }
    }
    this.#moving = undefined;
  }

  /**
   * True when there may be more to move. A session whose file cannot be written is reported and left in the journal; it holds
   * up no other session.
   */
  async #moveBatch(): Promise<boolean> {
    const batch = await this.#options.journal.unflushed(BATCH);
    const moved = (await Promise.all(batch.map((lines) => this.#append(lines)))).filter((lines) => lines !== undefined);
    const seqs = moved.flatMap(({ lines }) => lines.map(({ seq }) => seq));
    if (seqs.length === 0) return false;
    await this.#options.journal.flushed(seqs);
    for (const { session, lines } of moved) this.#forget(session, new Set(lines.map(({ line }) => line.id)));
    return batch.reduce((sum, { lines }) => sum + lines.length, 0) >= BATCH;
  }

  async #append(entry: UnflushedLines): Promise<UnflushedLines | undefined> {
    const { session, lines } = entry;
    const messages = lines.map(({ line }) => line);
    try {
      await this.#options.store.append(session, messages);
      return entry;
    } catch (error) {
      this.#options.onError(error);
      // After a restart nobody else remembers them: until the file can be written, the session is shown from the journal.
      const known = new Set(this.#pending.get(session)?.map(({ id }) => id));
      const missing = messages.filter(({ id }) => !known.has(id));
      if (missing.length > 0) this.#pending.set(session, [...(this.#pending.get(session) ?? []), ...missing]);
      return undefined;
    }
  }

  #forget(session: string, moved: ReadonlySet<string>): void {
    const left = (this.#pending.get(session) ?? []).filter((line) => !moved.has(line.id));
    if (left.length > 0) this.#pending.set(session, left);
    else this.#pending.delete(session);
  }
}
