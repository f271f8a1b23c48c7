// next row of a lane -> the rest of its burst -> which row is claimed, and which end with it
import type { QueuedRow } from '../bus/inbound-bus.ts';
import type { Emit } from '../core/events.ts';
import { isOverflowLane } from '../core/ids.ts';
import type { Clock } from '../core/ports.ts';
import { MERGED, SUPERSEDED } from '../core/queueing.ts';
import type { RunRow } from '../core/run.ts';
import type { Runs } from '../core/runs.ts';
import { MOST_JOINED, type Plan, planTurn, type QueueRules, settleMs } from './queue-mode.ts';

export interface Claimed {
  readonly row: RunRow;
  /** Rejects when the claim could not be written. */
  readonly durable: Promise<unknown>;
}

export interface LaneStartOptions {
  readonly journal: Pick<Runs, 'waiting' | 'claim'>;
  /** What holds for the chat of a row; asked before each turn. Absent: followup. */
  readonly rules?: (row: QueuedRow) => Promise<QueueRules>;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** How the turns of lanes begin. It keeps nothing: what is decided is decided by the claim. */
export class LaneStart {
  readonly #options: LaneStartOptions;

  constructor(options: LaneStartOptions) {
    this.#options = options;
  }

  /**
   * The rules for the turn that begins with this row, once the burst it belongs to is over or the signal
   * aborts. `newestAt`: when the lane's newest message came.
   */
  async settled(row: QueuedRow, newestAt: () => number, signal: AbortSignal): Promise<QueueRules | 'alone'> {
    if (!row.isPlain || isOverflowLane(row.lane)) return 'alone';
    const rules = await this.#options.rules?.(row);
    if (!rules || ((rules.mode === 'followup' || rules.mode === 'speculative') && rules.debounceMs === 0)) return 'alone';
    const { clock } = this.#options;
    const first = clock.monotonic();
    for (;;) {
      const ms = settleMs(rules, { first, newest: newestAt() }, clock.monotonic());
      if (ms <= 0 || signal.aborted) return rules;
      await clock.sleep(ms, signal).catch(() => undefined);
    }
  }

  /**
   * Claims what runs now. Resolves at the commit: the turn prepares its first call while the disk is at work.
   * `none`: the row is not NEW any more. `again`: another row was to lead and is gone, so look anew.
   */
  async claim(row: QueuedRow, rules: QueueRules | 'alone'): Promise<Claimed | 'none' | 'again'> {
    const { journal } = this.#options;
    if (rules === 'alone') return (await this.#claim({ lead: row.seq, merged: [], superseded: [] })) ?? 'none';
    const waiting = await journal.waiting(row.lane, MOST_JOINED, row.seq - 1);
    const plan = waiting[0]?.seq === row.seq ? planTurn(rules, waiting) : undefined;
    if (!plan) return 'none';
    const claimed = await this.#claim(plan);
    if (!claimed) return 'again';
    claimed.durable.then(
      () => this.#tell(waiting, plan),
      () => undefined,
    );
    return claimed;
  }

  #claim({ lead, merged, superseded }: Plan): Promise<Claimed | undefined> {
    const taking = merged.length + superseded.length > 0 ? { merged, superseded } : undefined;
    return new Promise((resolve, reject) => {
      const handOver = (row: RunRow | undefined): void => resolve(row && { row, durable });
      const durable = this.#options.journal.claim(lead, handOver, taking);
      durable.then(handOver, reject);
    });
  }

  #tell(waiting: readonly RunRow[], { lead, merged, superseded }: Plan): void {
    const { clock, emit } = this.#options;
    const led = waiting.find(({ seq }) => seq === lead)?.key ?? '';
    for (const { seq, key: messageId, session, message } of waiting) {
      const outcome = merged.includes(seq) ? `${MERGED}${led}` : superseded.includes(seq) ? SUPERSEDED : undefined;
      if (outcome && message)
        emit({ type: 'finished', at: clock.now(), messageId, session, channel: message.channel, outcome, ms: 0 });
    }
  }
}
