// answer committed -> enough lines? -> summary of the older ones -> session's mutex -> archive, rewrite
import {
  type CompactionPlan,
  compactedId,
  messagesIn,
  planCompaction,
  SESSION_COMPACTION,
  type Summary,
  summarise,
  withSummary,
} from '../agent/compact.ts';
import type { ModelAccess } from '../core/ask-model.ts';
import { errorText, isGatehouseError } from '../core/errors.ts';
import { archivedSession, isArchived } from '../core/ids.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { RunRow } from '../core/run.ts';
import type { SessionMessage } from '../core/session.ts';
import type { Waits } from '../core/wait.ts';
import { BoundedQueue } from '../lib/bounded-queue.ts';
import { isEmptied, type Part, withArchived } from './emptied-summary.ts';
import { orderLines } from './order-lines.ts';
import type { Transcripts } from './transcripts.ts';

/** Summaries that are made at once in the background: conversations come first. */
const AT_ONCE = 2;
/**
 * From so many lines on a summary is made although messages wait. A turn is given 50 (`gateway.max_history`)
 * with the summary before: of more, those that follow that one would be left out.
 */
const FROM_WHILE_BUSY = SESSION_COMPACTION.from + 6;
/** After a failure a session is left alone so long, doubled with each further one up to the cap. */
const BACK_OFF_MS = 60_000;
const BACK_OFF_CAP_MS = 6 * 3_600_000;
/** Sessions whose failures are remembered. */
const MOST_FAILED = 1_000;
/** Sessions whose lines were counted. */
const MOST_COUNTED = 1_000;
/** A process that has nothing else to do waits so long for summaries that were begun. */
const LAST_MS = 30_000;
/** What a turn counts for at least, in lines: some come by other ways, of which nothing is told here. */
const LEAST_OF_TURN = 5;

/** What came of it: `nothing` = there are too few lines, or they must stay. */
export type Compacted =
  | { readonly kind: 'done'; readonly messages: number; readonly kept: number }
  | { readonly kind: 'nothing'; readonly isHeld: boolean }
  | Exclude<Summary, { readonly kind: 'summary' }>;

export interface CompactionOptions {
  readonly transcripts: Pick<Transcripts, 'load' | 'flush' | 'replace' | 'sessions' | 'erased'>;
  readonly waits: Pick<Waits, 'heldHistory' | 'isBesideUnderWay'>;
  /** Whether it happens by itself; asked after each turn. */
  readonly isOn: () => boolean;
  /** Whether messages wait for their turn. */
  readonly isBusy: () => boolean;
  /** Asks on the account of this run; `as`: the key of the events. */
  readonly models: (row: RunRow, as?: string) => ModelAccess;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Failure {
  readonly until: number;
  readonly waitMs: number;
}

/**
 * Keeps stored histories short. No answer waits for it: the model is asked once the answer is committed and
 * beside the session's mutex, which is held while the lines are replaced alone. Nothing of it is in the
 * journal: what a kill or a failure ends has changed nothing, and a later turn does it again. While others
 * wait for their turn it is left to a later one as well, up to a few lines more. A summary that an erasure
 * emptied is made anew in the same way, from what the archive has of its messages by then.
 */
export class Compaction implements AsyncDisposable {
  readonly #options: CompactionOptions;
  readonly #queue = new BoundedQueue(AT_ONCE);
  readonly #closing = new AbortController();
  /** By session: what is under way, and when the next try may begin. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #failed = new Map<string, Failure>();
  /** By session: its lines, about. Spares reading all of them after each turn. */
  readonly #counted = new Map<string, number>();
  #erased = 0;

  constructor(options: CompactionOptions) {
    this.#options = options;
  }

  /** A turn of this session is committed, with so many lines. Returns at once. */
  after(row: RunRow, lines: number): void {
    const { session } = row;
    const failed = this.#failed.get(session);
    if (isArchived(session) || this.#isShort(session, lines)) return;
    if (!this.#options.isOn() || this.#closing.signal.aborted || this.#running.has(session)) return;
    if (failed && this.#options.clock.monotonic() < failed.until) return;
    const work = this.#inBackground(row).finally(() => this.#running.delete(session));
    this.#running.set(session, work);
  }

  /**
   * `/compact`: all but the newest lines, however few there are. The caller holds the session's mutex.
   * Rejects as `Transcripts.replace` does.
   */
  async now(row: RunRow, signal: AbortSignal): Promise<Compacted> {
    const { transcripts, models } = this.#options;
    // Begun anew since: what it was is in the archive, word for word.
    if (isArchived(row.session)) return { kind: 'nothing', isHeld: false };
    const lines = await transcripts.load(row.session);
    const done = lines.findIndex(({ id }) => id === compactedId(row.key));
    // An attempt before this one did it.
    if (done >= 0) return doneWith(lines, done);
    const rule = { ...SESSION_COMPACTION, from: 0 };
    const held = await this.#held(row.session, lines);
    const plan = planCompaction(lines, rule, held) ?? emptiedIn(lines, held);
    const isBeside = await this.#options.waits.isBesideUnderWay(row.session);
    if (!plan || isBeside)
      return { kind: 'nothing', isHeld: (held > 0 || isBeside) && planCompaction(lines, rule) !== undefined };
    const part = { ...plan, lines };
    const messages = await this.#sourceOf(row.session, part);
    if (messages.every(isEmptied)) return { kind: 'nothing', isHeld: false };
    const summary = await summarise({ messages, kind: 'session', name: row.key }, models(row), signal);
    if (summary.kind !== 'summary') return summary;
    if (!(await this.#replace(row.session, { part, messages }, summary.line))) return { kind: 'nothing', isHeld: false };
    this.#failed.delete(row.session);
    return doneWith(withSummary(lines, plan, summary.line), plan.begin);
  }

  /**
   * Resolves when nothing is summarised any more, or after half a minute: what is asked for is paid for, and
   * would be begun anew by each process that lives for one message.
   */
  async idle(): Promise<void> {
    const over = new AbortController();
    const late = this.#options.clock.sleep(LAST_MS, over.signal).catch(() => undefined);
    await Promise.race([Promise.all(this.#running.values()), late]);
    over.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('compaction closed'));
    await Promise.all(this.#running.values());
  }

  /** False also where it is not known. */
  #isShort(session: string, more: number): boolean {
    const { erased } = this.#options.transcripts;
    if (erased !== this.#erased) this.#counted.clear();
    this.#erased = erased;
    const counted = this.#counted.get(session);
    if (counted === undefined) return false;
    const now = counted + Math.max(more, LEAST_OF_TURN);
    this.#count(session, now);
    return now < SESSION_COMPACTION.from;
  }

  #count(session: string, lines: number): void {
    this.#counted.delete(session);
    this.#counted.set(session, lines);
    const [oldest] = this.#counted.keys();
    if (this.#counted.size > MOST_COUNTED && oldest !== undefined) this.#counted.delete(oldest);
  }

  async #inBackground(row: RunRow): Promise<void> {
    const { logger } = this.#options;
    const { session } = row;
    try {
      const done = await this.#compact(row);
      if (!done) return;
      if (done.kind === 'done') {
        this.#failed.delete(session);
        logger.info('session.compacted', { session, messages: done.messages, kept: done.kept });
      } else this.#backOff(session, done.kind === 'nothing' ? 'the lines changed meanwhile' : done.reason);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#backOff(session, isGatehouseError(error) ? `${error.code} ${error.message}` : errorText(error));
    }
  }

  /** Undefined = there is nothing to do. */
  async #compact(row: RunRow): Promise<Compacted | undefined> {
    const { transcripts, models } = this.#options;
    const { session, key } = row;
    const from = this.#options.isBusy() ? FROM_WHILE_BUSY : SESSION_COMPACTION.from;
    const newest = await transcripts.load(session, from);
    this.#count(session, newest.length);
    if (newest.length < from && !newest.some(isEmptied)) return undefined;
    // So that one which cannot be made now is not left until there are enough lines.
    this.#counted.delete(session);
    const lines = await transcripts.load(session);
    const held = await this.#held(session, lines);
    const plan = planCompaction(lines, SESSION_COMPACTION, held) ?? emptiedIn(lines, held);
    if (!plan || (await this.#options.waits.isBesideUnderWay(session))) return undefined;
    const part = { ...plan, lines };
    const messages = await this.#sourceOf(session, part);
    if (messages.every(isEmptied)) {
      // What it stood for is in no archive: it stays as it is.
      this.#count(session, newest.length);
      return undefined;
    }
    const name = messages.at(-1)?.id ?? key;
    const { signal } = this.#closing;
    const summary = await this.#queue.run(() =>
      summarise({ messages, kind: 'session', name }, models(row, `${key}#compact`), signal),
    );
    if (summary.kind !== 'summary') return summary;
    // So that the mutex is held for the rewriting alone.
    await transcripts.flush();
    const isDone = await transcripts.sessions.runExclusive(session, () =>
      this.#replace(session, { part, messages }, summary.line),
    );
    return isDone ? doneWith(withSummary(lines, plan, summary.line), plan.begin) : { kind: 'nothing', isHeld: false };
  }

  /** What the summary of this part is made of. Of what was erased since, the archive has nothing any more. */
  async #sourceOf(session: string, part: Part): Promise<readonly SessionMessage[]> {
    const replaced = part.lines.slice(part.begin, part.end);
    if (!replaced.some(isEmptied)) return replaced;
    return withArchived(part, orderLines(await this.#options.transcripts.load(archivedSession(session))));
  }

  /**
   * False where these lines are no longer there side by side, say something else since they were read,
   * because words were erased, or a run needs them that was parked or may be.
   */
  async #replace(session: string, { part, messages }: Made, summary: SessionMessage): Promise<boolean> {
    const { transcripts, waits } = this.#options;
    const replaced = part.lines.slice(part.begin, part.end);
    const source = await this.#sourceOf(session, part);
    if (source.length !== messages.length || !messages.every((line, n) => saysSame(line, source[n]))) return false;
    if (await waits.isBesideUnderWay(session)) return false;
    const needed = new Set(await waits.heldHistory(session));
    let isDone = false;
    await transcripts.replace(session, (lines) => {
      const begin = lines.findIndex(({ id }) => id === replaced[0]?.id);
      const plan = { begin, end: begin + replaced.length };
      const isSame = begin >= 0 && replaced.every((line, n) => saysSame(line, lines[begin + n]));
      if (!isSame || lines.slice(begin).some(({ id }) => needed.has(id))) return undefined;
      isDone = true;
      return withSummary(lines, plan, summary);
    });
    return isDone;
  }

  /** How many lines runs that wait have in their history. */
  async #held(session: string, lines: readonly SessionMessage[]): Promise<number> {
    const needed = new Set(await this.#options.waits.heldHistory(session));
    return lines.findLastIndex(({ id }) => needed.has(id)) + 1;
  }

  #backOff(session: string, reason: string): void {
    const { clock, logger } = this.#options;
    const before = this.#failed.get(session);
    const waitMs = Math.min(BACK_OFF_CAP_MS, before ? before.waitMs * 2 : BACK_OFF_MS);
    this.#failed.delete(session);
    this.#failed.set(session, { until: clock.monotonic() + waitMs, waitMs });
    const [oldest] = this.#failed.keys();
    if (this.#failed.size > MOST_FAILED && oldest !== undefined) this.#failed.delete(oldest);
    const hint = 'nothing was changed; it is tried again after a later turn';
    logger.warn('session.not-compacted', { session, detail: reason, nextInMs: waitMs, hint });
  }
}

/** What is summarised, and what of it the model was shown. */
interface Made {
  readonly part: Part;
  readonly messages: readonly SessionMessage[];
}

/** The first summary that says nothing any more, behind lines that must stay. */
function emptiedIn(lines: readonly SessionMessage[], held: number): CompactionPlan | undefined {
  const begin = lines.findIndex((line, n) => n >= held && isEmptied(line));
  return begin < 0 ? undefined : { begin, end: begin + 1 };
}

/** What a summary is made of. */
function saysSame(one: SessionMessage, other: SessionMessage | undefined): boolean {
  const said = ({ id, content, tool_calls: calls = [] }: SessionMessage): string =>
    JSON.stringify([id, content, calls.map((call) => call.arguments)]);
  return other !== undefined && said(one) === said(other);
}

/** `at`: where the summary stands among the lines. */
function doneWith(lines: readonly SessionMessage[], at: number): Compacted {
  const summary = lines[at];
  return { kind: 'done', messages: summary ? messagesIn(summary) : 0, kept: lines.length - at - 1 };
}
