import type { Channel } from '../core/channel.ts';
import { errorText, isGatehouseError } from '../core/errors.ts';
import type { OutboundPart } from '../core/message.ts';
import type { OutboxRow, Settlement } from '../core/outbox.ts';
import { linkedSignal } from '../lib/linked-signal.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';
import { lookUp, pause } from './attempt.ts';
import type { Reservation } from './budget.ts';
import { isProvisional } from './drafts.ts';
import { type EditTarget, editTarget } from './edit-target.ts';
import type { LaneContext } from './lane-context.ts';
import { answerOf, undelivered } from './notice.ts';
import type { Sender } from './parked.ts';
import { editPart, INTERRUPTED, interruptedOutcome, outcomeContext, sendPart, withoutCall } from './send-part.ts';
import { settledEvent } from './settled-event.ts';

const BATCH = 16;
/** How often a full disk and an absent channel are looked at again. */
const JOURNAL_RETRY_MS = 3_000;
const CHANNEL_RETRY_MS = 5_000;

type Step = 'next' | 'reread' | 'stop';

/**
 * Delivers one lane strictly in order: nothing is sent before the part ahead of it is settled. Ends when the
 * lane is empty or delivery stops; `runs` again on the next poke.
 */
export class Lane {
  readonly key: string;
  readonly #context: LaneContext;
  /** SENDING rows of an earlier boot whose channel has to be asked first. */
  readonly #inherited: OutboxRow[] = [];
  /**
   * Set when the lane ended because its channel cannot send: where from, and ms until its first part expires.
   */
  parked: { readonly sender: Sender; readonly leftMs: number } | undefined;
  #wake = new AbortController();
  #poked = false;
  /** The answer whose remaining parts have nowhere to go, and why. */
  #doomed: { readonly answer: string; readonly reason: string } | undefined;

  #lastNotice: string | undefined;

  constructor(key: string, context: LaneContext) {
    this.key = key;
    this.#context = context;
  }

  /**
   * New parts, or a channel that came back: looks again now. A part that must wait for its time still does.
   */
  poke(): void {
    this.#poked = true;
    this.#wake.abort(NO_LONGER_NEEDED);
  }

  /** Poked since it last began to look. */
  get poked(): boolean {
    return this.#poked;
  }

  inherit(row: OutboxRow): void {
    this.#inherited.push(row);
  }

  /** Resolves `true` when the lane is empty, `false` when it stopped. Never rejects. */
  async run(): Promise<boolean> {
    const { stop, emit, clock } = this.#context;
    while (!stop.aborted) {
      this.#poked = false;
      try {
        const step = await this.#once();
        if (step === 'stop') return false;
        if (step === 'next' && !this.#poked) return true;
      } catch (error) {
        if (stop.aborted) return false;
        emit({ type: 'failed', at: clock.now(), code: errorCode(error), detail: errorText(error) });
        if (!(await this.#sleep(JOURNAL_RETRY_MS))) return false;
      }
    }
    return false;
  }

  /** `next`: nothing is left. */
  async #once(): Promise<Step> {
    for (let row = this.#inherited[0]; row; row = this.#inherited[0]) {
      if (!(await this.#resolveInherited(row))) return 'stop';
      this.#inherited.shift();
    }
    const rows = await this.#context.journal.pending(this.key, BATCH);
    for (const row of rows) {
      const step = await this.#deliver(row);
      if (step !== 'next') return step;
    }
    return rows.length < BATCH ? 'next' : 'reread';
  }

  async #deliver(row: OutboxRow): Promise<Step> {
    if (this.#doomed?.answer === answerOf(row.part)) return this.#settle(row, { kind: 'dead', reason: this.#doomed.reason });
    this.#doomed = undefined;
    const target = await editTarget(row.part, this.#context);
    const turn = await this.#turn(row);
    if (turn === 'stop') return 'stop';
    if (turn === 'expired') return this.#settle(row, { kind: 'expired', isOld: true });
    if (turn === 'stale') return this.#settle(row, { kind: 'expired' });
    const settled = withoutCall(row, turn.channel, target, this.#context);
    const unused = (): void => {
      turn.reservation.release();
      this.#context.outages.unused(row.part);
      turn.free();
    };
    if (settled) {
      unused();
      return this.#settle(row, settled);
    }
    try {
      const { journal, clock } = this.#context;
      let claimed: boolean;
      try {
        claimed = await journal.sending(row.seq); // commit 5: without this row on disk nothing is sent
      } catch (error) {
        unused();
        this.#journalFailed(error);
        return (await this.#sleep(JOURNAL_RETRY_MS)) ? 'reread' : 'stop';
      }
      if (!claimed) {
        unused();
        return 'reread';
      }
      const startedAt = clock.monotonic();
      const sent = await this.#attempt(row, turn.channel, target);
      turn.free();
      return await this.#settle(row, sent, clock.monotonic() - startedAt);
    } finally {
      turn.free();
    }
  }

  async #attempt(row: OutboxRow, channel: Channel, target: EditTarget | undefined): Promise<Settlement> {
    const { settlement, doomed } =
      target === undefined ? await sendPart(row, channel, this.#context) : await editPart(row, channel, target, this.#context);
    this.#noteReach(row, settlement);
    if (doomed !== undefined) this.#doomed = { answer: answerOf(row.part), reason: doomed };
    return settlement;
  }

  #noteReach({ part, plain }: OutboxRow, settlement: Settlement): void {
    const { outages } = this.#context;
    // In another form: the platform refused the one it was given.
    const isRefused = settlement.kind === 'retry' && (settlement.asNew || (settlement.plain && !plain));
    if (settlement.kind === 'retry' && !isRefused) outages.failed(part, this.key);
    else if (settlement.kind !== 'unknown') outages.answered(part);
  }

  /** Waits until this part may be sent: its time, its channel, the platform's silence, a token, a slot. */
  async #turn(
    row: OutboxRow,
  ): Promise<'expired' | 'stale' | 'stop' | { channel: Channel; reservation: Reservation; free: () => void }> {
    const { clock, budget, slots, stop } = this.#context;
    let token: { reservation: Reservation; readyAt: number } | undefined;
    for (;;) {
      const leftMs = this.#context.times.leftMs(row);
      if (stop.aborted || leftMs <= 0 || this.#isStale(row)) {
        token?.reservation.release();
        return stop.aborted ? 'stop' : leftMs <= 0 ? 'expired' : 'stale';
      }
      const channel = this.#channel(row.part);
      if (!channel) {
        token?.reservation.release();
        this.parked = { sender: { channel: row.part.channel, account: row.part.account }, leftMs };
        return 'stop';
      }
      let waitMs = Math.max(this.#context.times.waitMs(row), budget.closedFor(row.part));
      if (waitMs <= 0 && channel) {
        if (!token) {
          const reservation = budget.reserve(row.part, channel.limits.rate);
          token = { reservation, readyAt: clock.monotonic() + reservation.waitMs };
        }
        waitMs = token.readyAt - clock.monotonic();
        if (waitMs <= 0) {
          const free = await slots.acquire(channel.name, stop).catch(() => undefined);
          // While it waited for the slot all that was looked at above may have changed.
          const isOpen = this.#channel(row.part) === channel && budget.closedFor(row.part) === 0;
          const isStill = free && isOpen && !stop.aborted && !this.#isStale(row) && this.#context.times.leftMs(row) > 0;
          if (isStill && this.#context.outages.begin(row.part)) {
            return { channel, reservation: token.reservation, free };
          }
          free?.();
          continue;
        }
      }
      if (!(await this.#sleep(Math.min(waitMs, leftMs)))) {
        token?.reservation.release();
        return 'stop';
      }
    }
  }

  /** A draft whose turn is over: what is behind it in the lane says more. */
  #isStale({ part, doubtSince }: OutboxRow): boolean {
    const { drafts, channels } = this.#context;
    if (!isProvisional(part) || part.edits !== undefined || drafts.isLive(part.key)) return false;
    // Class `idem` may have shown it in an attempt that ended in doubt: only sending it again tells its id.
    return doubtSince === undefined || channels.get(part.channel)?.sendClass !== 'idem';
  }

  /** `false` = delivery stopped before it could be settled. */
  async #resolveInherited(row: OutboxRow): Promise<boolean> {
    const { clock, kill } = this.#context;
    // As it was before the attempt that the earlier boot began.
    const before = { ...row, attempts: row.attempts - 1 };
    for (;;) {
      const channel = this.#channel(row.part);
      if (channel) {
        const context = outcomeContext(before, channel, this.#context);
        const outcome =
          channel.sendClass === 'find' && row.part.edits === undefined
            ? await lookUp(channel, before, INTERRUPTED, { context, clock, signal: kill })
            : interruptedOutcome(before, context);
        if (outcome.kind === 'settle') return (await this.#settle(row, outcome.settlement)) !== 'stop';
      }
      const leftMs = this.#context.times.leftMs(row);
      if (leftMs <= 0) return (await this.#settle(row, { kind: 'unknown', reason: INTERRUPTED })) !== 'stop';
      if (!(await this.#sleep(Math.min(CHANNEL_RETRY_MS, leftMs)))) return false;
    }
  }

  /**
   * Commit 6. While it cannot be written the result is kept here and the lane waits; the part is never sent
   * again for it.
   */
  async #settle(row: OutboxRow, settlement: Settlement, ms = 0): Promise<Step> {
    const { journal, clock, emit, kill, drafts } = this.#context;
    for (let failed = false; ; failed = true) {
      try {
        await journal.settle(row.seq, settlement);
        if (failed) emit({ type: 'journal', at: clock.now(), state: 'ok' });
        break;
      } catch (error) {
        if (!failed) this.#journalFailed(error);
        // The file is lost for good: the row stays SENDING, and the next start settles it by its send class.
        if (errorCode(error) === 'GH1302') return 'stop';
        await pause(clock, JOURNAL_RETRY_MS, kill);
        if (kill.aborted) return 'stop';
      }
    }
    drafts.settled(row.part.key, settlement);
    if (settlement.kind !== 'retry' || settlement.asNew) this.#context.times.forget(row.seq);
    // The person who had it written elsewhere is not the one who sees that nothing came.
    const isTooOld = settlement.kind === 'expired' && settlement.isOld === true && row.part.sentFor !== undefined;
    if (settlement.kind === 'dead' || isTooOld) await this.#tellChat(row);
    // No person waits for it, and the answer behind it says the rest.
    const isNews = settlement.kind !== 'expired' || !isProvisional(row.part);
    if (isNews) emit(settledEvent(row.part, settlement, clock.now(), ms));
    return settlement.kind === 'retry' ? 'reread' : 'next';
  }

  /** One line per answer, after its other parts; not where no person reads it. */
  async #tellChat(row: OutboxRow): Promise<void> {
    const isUnread = this.#doomed?.answer === answerOf(row.part) && !row.part.sentFor;
    const notice = isUnread ? undefined : undelivered(row, this.#context.clock.now());
    if (!notice || notice.part.key === this.#lastNotice) return;
    this.#lastNotice = notice.part.key;
    try {
      await this.#context.journal.enqueue([notice]);
      if (notice.lane === this.key) this.#poked = true;
      else this.#context.poke(notice.lane);
    } catch (error) {
      this.#journalFailed(error); // the dead letter itself is on disk and counted
    }
  }

  /**
   * The channel when it can send now. An answer for another account's chat waits: ids mean something else
   * there.
   */
  #channel(part: OutboundPart): Channel | undefined {
    const channel = this.#context.channels.get(part.channel);
    return channel && channel.account === part.account && this.#context.ready(channel) ? channel : undefined;
  }

  /** `false` when delivery stopped, or would stop before the time is over. A poke ends it early. */
  async #sleep(ms: number): Promise<boolean> {
    const { clock, stop, deadline } = this.#context;
    if (stop.aborted || clock.monotonic() + ms > deadline()) return false;
    if (this.#wake.signal.aborted) this.#wake = new AbortController();
    using either = linkedSignal(stop, this.#wake.signal);
    await pause(clock, ms, either.signal);
    return !stop.aborted;
  }

  #journalFailed(error: unknown): void {
    const { emit, clock } = this.#context;
    emit({ type: 'journal', at: clock.now(), state: 'failing', code: errorCode(error) });
  }
}

function errorCode(error: unknown): string {
  return isGatehouseError(error) ? error.code : 'GH1004';
}
