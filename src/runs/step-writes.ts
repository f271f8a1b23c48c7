// step of a running turn -> journal; one that cannot be written for now is kept in hand and written again
import { errorText, isGatehouseError } from '../core/errors.ts';
import type { Emit } from '../core/events.ts';
import type { Ledger, UsageEntry } from '../core/ledger.ts';
import type { Clock } from '../core/ports.ts';
import { channelOf, type RunRow } from '../core/run.ts';
import type { Runs } from '../core/runs.ts';
import type { StepRecord } from '../core/step.ts';
import { RETRY_BASE_MS, RETRY_CAP_MS } from './finish.ts';

export interface StepWritesOptions {
  readonly journal: Pick<Runs & Ledger, 'step' | 'spend'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

interface Entry {
  readonly step: StepRecord;
  readonly usage: UsageEntry | undefined;
}

/**
 * The steps of one claim. What a step holds was paid for or has taken effect, so a full disk must not cost
 * it: it is written again, with a back-off, until it is on disk or the turn is told to stop.
 */
export class StepWrites {
  readonly #row: RunRow;
  readonly #options: StepWritesOptions;
  readonly #signal: AbortSignal;
  /** Failed at least once, and what becomes of each. */
  readonly #late = new Map<Entry, Promise<unknown>>();

  /** `signal`: after its abort each step is tried once more, and its failure is handed on. */
  constructor(row: RunRow, signal: AbortSignal, options: StepWritesOptions) {
    this.#row = row;
    this.#options = options;
    this.#signal = signal;
  }

  /**
   * As `Runs.step`: `false` when the claim was fenced. Rejects when the journal is lost, or could not be
   * written until the abort.
   */
  async write(step: StepRecord, usage: UsageEntry | undefined): Promise<boolean> {
    const entry = { step, usage };
    try {
      return await this.#once(entry);
    } catch (error) {
      if (!mayPass(error)) throw error;
      const written = this.#repeat(entry, error);
      this.#late.set(entry, written);
      return await written;
    }
  }

  /**
   * Resolves when every step that failed is written. Rejects when one still cannot be; it may be called
   * again.
   */
  async settled(): Promise<void> {
    if (this.#late.size === 0) return;
    await Promise.allSettled(this.#late.values());
    // Given up when the turn was told to stop; nothing that follows may be written without them.
    for (const entry of this.#late.keys()) await this.#again(entry);
  }

  async #repeat(entry: Entry, failure: unknown): Promise<boolean> {
    let error = failure;
    for (let retryInMs = RETRY_BASE_MS; ; retryInMs = Math.min(RETRY_CAP_MS, retryInMs * 2)) {
      this.#report(error, retryInMs);
      await this.#pause(retryInMs);
      try {
        return await this.#again(entry);
      } catch (next) {
        if (!mayPass(next) || this.#signal.aborted) throw next;
        error = next;
      }
    }
  }

  async #again(entry: Entry): Promise<boolean> {
    const isOwn = await this.#once(entry);
    this.#late.delete(entry);
    return isOwn;
  }

  async #once({ step, usage }: Entry): Promise<boolean> {
    const { journal } = this.#options;
    const { seq, generation } = this.#row;
    const isOwn = await journal.step(seq, generation, step, usage);
    // The claim ended meanwhile. The turn needs the step no more, but its price was paid.
    if (!isOwn && usage) await journal.spend(usage);
    return isOwn;
  }

  #report(error: unknown, retryInMs: number): void {
    const { key: messageId, session } = this.#row;
    const code = isGatehouseError(error) ? error.code : 'GH2003';
    const detail = `a step is not recorded: ${errorText(error)}; next try in ${retryInMs} ms`;
    const { clock, emit } = this.#options;
    emit({ type: 'failed', at: clock.now(), messageId, session, channel: channelOf(this.#row), code, detail });
  }

  /** Ends early when the signal aborts. */
  async #pause(ms: number): Promise<void> {
    try {
      await this.#options.clock.sleep(ms, this.#signal);
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    }
  }
}

/** Nothing was written, and the disk may have room again. */
function mayPass(error: unknown): boolean {
  return isGatehouseError(error) && error.code === 'GH1301';
}
