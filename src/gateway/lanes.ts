// bus -> lane (order per chat and thread) -> session mutex -> permit (global bound, shared by channels) ->
//   turn
import type { InboundBus, QueuedRow } from '../bus/inbound-bus.ts';
import { Suspects } from '../bus/suspects.ts';
import type { TurnPermits } from '../bus/turn-permits.ts';
import type { Emit } from '../core/events.ts';
import { isOverflowLane } from '../core/ids.ts';
import type { Clock } from '../core/ports.ts';
import type { RunRow } from '../core/run.ts';
import type { Runs } from '../core/runs.ts';
import { KeyedMutex } from '../lib/keyed-mutex.ts';
import { type Finish, RETRY_BASE_MS, RETRY_CAP_MS, RunStopped } from '../runs/finish.ts';
import { LaneRows } from './lane-rows.ts';
import { type Claimed, LaneStart, type LaneStartOptions } from './lane-start.ts';
import type { QueueRules } from './queue-mode.ts';

interface Lane {
  readonly key: string;
  readonly rows: LaneRows;
  active: boolean;
  /** Monotonic time of the newest news of a message. */
  newestAt: number;
  /** The row whose turn or commit is under way. */
  current?: { seq: number; readonly controller: AbortController };
}

export interface LanesOptions extends Pick<LaneStartOptions, 'rules'> {
  readonly journal: Runs;
  readonly bus: InboundBus;
  /** What else changes the lines of sessions waits for it too. Default: nothing else does. */
  readonly sessions?: KeyedMutex;
  /** Bounds the turns that run at once over all lanes. */
  readonly permits: TurnPermits;
  /**
   * One turn on a claimed row, until its outcome is known; `undefined` = nothing to commit. The claim is
   * committed; nothing of the turn may leave the process before `durable` resolves. After a rejection the
   * lane runs the same claim again, after a back-off: recorded steps are replayed, nothing is lost.
   */
  readonly turn: (row: RunRow, signal: AbortSignal, durable: Promise<unknown>) => Promise<Finish | undefined>;
  readonly onTurnError: (row: QueuedRow, error: unknown, retryInMs: number) => void;
  readonly clock: Clock;
  readonly emit: Emit;
}

/**
 * Keeps order per lane and lets lanes run side by side. Each lane puts one row at a time into the queue for a
 * permit and joins at its end again, so a flooding chat delays another of its channel by at most one turn per
 * permit, and a channel delays no other beyond its share. Idle lanes are removed.
 */
export class Lanes {
  readonly #options: LanesOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #sessions: KeyedMutex;
  readonly #suspects: Suspects;
  readonly #start: LaneStart;
  readonly #stopping = new AbortController();
  #idleWaiters: (() => void)[] = [];

  constructor(options: LanesOptions) {
    this.#options = options;
    this.#sessions = options.sessions ?? new KeyedMutex();
    this.#start = new LaneStart(options);
    this.#suspects = new Suspects(options.clock);
    options.bus.subscribe((row, lane) => this.#wake(lane, row));
  }

  stats(): { lanes: number; running: number; waiting: number; ofPerson: number } {
    const { running, waiting, ofPerson } = this.#options.permits;
    return { lanes: this.#lanes.size, running, waiting, ofPerson };
  }

  /** Whether no turn runs and no message waits for one. */
  get isAtRest(): boolean {
    const { lanes, running, waiting } = this.stats();
    return lanes === 0 && running === 0 && waiting === 0;
  }

  /**
   * Looks at the journal for these lanes, from the beginning: after recovery, when another process changed
   * it, or when a run goes on that waited, which is older than what came meanwhile.
   */
  fetch(lanes: readonly string[]): void {
    for (const lane of lanes) {
      const found = this.#lanes.get(lane);
      found?.rows.clear();
      this.#wake(lane, undefined);
    }
  }

  /**
   * These rows were cancelled in the journal: the running turn stops if it is one of them. What waits is
   * looked for there.
   */
  abort(lane: string, seqs: ReadonlySet<number>, by: 'user' | 'newer' = 'user'): void {
    const found = this.#lanes.get(lane);
    if (!found) return;
    found.rows.clear();
    if (found.current && seqs.has(found.current.seq)) found.current.controller.abort(new RunStopped(by));
  }

  /** Its author took the row back before its turn began: the lane need not wait for that. */
  drop(seq: number): void {
    for (const { current } of this.#lanes.values()) if (current?.seq === seq) current.controller.abort(new RunStopped('user'));
  }

  /** As `abort`, of the turns whose rows another process cancelled. */
  async abortCancelled(): Promise<void> {
    const running = [...this.#lanes.values()].flatMap(({ current }) => (current ? [current.seq] : []));
    if (running.length === 0) return;
    const cancelled = new Set(await this.#options.journal.cancelled(running));
    for (const { key, current } of this.#lanes.values()) if (current && cancelled.has(current.seq)) this.abort(key, cancelled);
  }

  /** Runs `work` while no turn of this session does: after the one that runs now. */
  within<T>(session: string, work: () => Promise<T>): Promise<T> {
    return this.#sessions.runExclusive(session, work);
  }

  /** Resolves when no lane has work. */
  async idle(): Promise<void> {
    if (this.#lanes.size === 0) return;
    await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
  }

  /**
   * Starts no further turn and resolves when none runs. Running ones may reach their next recorded step for
   * `graceMs`, then their signal aborts; either way what is unfinished is NEW again in the journal.
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort(new RunStopped('shutdown'));
    const grace = new AbortController();
    const abortLate = this.#options.clock.sleep(graceMs, grace.signal).then(
      () => {
        for (const lane of this.#lanes.values()) lane.current?.controller.abort(new RunStopped('shutdown'));
      },
      () => undefined,
    );
    await this.idle();
    grace.abort(new Error('all turns ended'));
    await abortLate;
  }

  #wake(key: string, row: QueuedRow | undefined): void {
    let lane = this.#lanes.get(key);
    if (!lane) {
      lane = { key, rows: new LaneRows(key, this.#options), active: false, newestAt: 0 };
      this.#lanes.set(key, lane);
    }
    lane.newestAt = this.#options.clock.monotonic();
    lane.rows.add(row);
    if (lane.active) return;
    lane.active = true;
    void this.#drain(lane);
  }

  async #drain(lane: Lane): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const row = lane.rows.take() ?? (await lane.rows.fetchNext(this.#stopping.signal));
      if (!row) {
        // A row may have come between the last look and now.
        if (lane.rows.hasMore) continue;
        break;
      }
      this.#options.emit({
        type: 'queued',
        at: this.#options.clock.now(),
        messageId: row.messageId,
        session: row.session,
        channel: row.channel,
        lane: lane.key,
        depth: lane.rows.depth,
      });
      // What runs beside the session's own turn waits for none of it.
      await this.#sessions.runExclusive(isOverflowLane(lane.key) ? lane.key : row.session, () =>
        this.#suspects.run(row, () => this.#runRow(lane, row)),
      );
    }
    lane.rows.clear();
    this.#lanes.delete(lane.key);
    if (this.#lanes.size === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  /**
   * The row's turn and its commit, tried until both succeed. Only the turn holds a permit: a row that keeps
   * failing blocks no other lane, and a commit shares its transaction with the claim of the turn that takes
   * over the permit.
   */
  async #runRow(lane: Lane, waiting: QueuedRow): Promise<void> {
    const controller = new AbortController();
    lane.current = { seq: waiting.seq, controller };
    const { signal } = controller;
    let rules: QueueRules | 'alone' | undefined;
    let claimed: Claimed | undefined;
    const turn = async (): Promise<Finish | undefined> => {
      if (this.#stopping.signal.aborted || signal.aborted) return undefined;
      claimed ??= await this.#claim(lane, waiting, rules ?? 'alone');
      return claimed && (await this.#options.turn(claimed.row, signal, claimed.durable));
    };
    let finish: Finish | undefined;
    try {
      for (let retryInMs = RETRY_BASE_MS; ; retryInMs = Math.min(RETRY_CAP_MS, retryInMs * 2)) {
        try {
          rules ??= await this.#start.settled(waiting, () => lane.newestAt, AbortSignal.any([this.#stopping.signal, signal]));
          finish ??= await this.#options.permits.run(waiting, turn, signal);
          return await finish?.();
        } catch (error) {
          this.#options.onTurnError(waiting, error, retryInMs);
        }
        // A commit is owed also after /stop, and waits its time like any other.
        const { signal: stopping } = this.#stopping;
        await this.#pause(retryInMs, finish ? stopping : AbortSignal.any([stopping, signal]));
        const isStopping = stopping.aborted;
        // Nothing was begun, and no pause holds this loop back any more.
        if (!finish && (isStopping || signal.aborted)) return;
        // One more try was for a journal that recovered meanwhile; the next start runs the row again.
        if (finish && isStopping) return await finish().catch(() => undefined);
      }
    } finally {
      delete lane.current;
    }
  }

  async #claim(lane: Lane, waiting: QueuedRow, rules: QueueRules | 'alone'): Promise<Claimed | undefined> {
    const claimed = await this.#start.claim(waiting, rules);
    if (claimed === 'again') lane.rows.clear();
    // Not NEW any more: cancelled, merged into another row, or already run when it was fetched a second time.
    if (typeof claimed === 'string') return undefined;
    if (lane.current) lane.current.seq = claimed.row.seq;
    return claimed;
  }

  /** Ends early when the signal aborts: the caller looks at it next. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.clock.sleep(ms, signal);
    } catch {
      return;
    }
  }
}
