// Delivery: the outbox's way to the platforms (design 3, steps 7 and 8). poke(lane) -> lane.ts: wait for
//   the turn -> commit 5 SENDING -> attempt.ts: wire call -> outcome.ts: what it means -> commit 6
import type { Channel } from '../core/channel.ts';
import type { Emit } from '../core/events.ts';
import { laneKey, senderOf } from '../core/ids.ts';
import type { LeftRun, PendingLane } from '../core/journal.ts';
import type { InboundMessage } from '../core/message.ts';
import type { OutboxRow } from '../core/outbox.ts';
import type { RunRow } from '../core/run.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';
import { AnswerPlace, type AnswerPlaceOptions } from './answer-place.ts';
import { pause } from './attempt.ts';
import { createBudget, type Place } from './budget.ts';
import type { DeliveryOptions } from './delivery-options.ts';
import { Drafts } from './drafts.ts';
import { Lane } from './lane.ts';
import type { LaneContext } from './lane-context.ts';
import { Outages } from './outages.ts';
import { Pace } from './pace.ts';
import { ParkedLanes, type Sender } from './parked.ts';
import { putReaction } from './react.ts';
import { RowTimes } from './row-times.ts';
import { settleInterrupted } from './settle-interrupted.ts';
import { Signs } from './signs.ts';
import { createSlots } from './slots.ts';

export interface Delivery extends AsyncDisposable {
  /**
   * The lane has new parts, or its channel came back. Cheap: to be called after every commit that adds parts.
   * Ignored once stopped.
   */
  poke(lane: string): void;
  /** Wakes all waiting lanes of a channel that turned healthy. Without the call they look every 5 s. */
  pokeChannel(name: string): void;
  /**
   * To be called once, after `journal.recover` and before channels start. Settles SENDING rows of an earlier
   * boot by send class and starts the lanes. `idem` and `blind` are settled when it resolves; `find` is asked
   * by the lane, before anything new, once its channel is ready. What shows that there is work on the `left`
   * goes once their channel is ready: best effort, one try.
   */
  recover(sending: readonly OutboxRow[], lanes: readonly PendingLane[], left?: readonly LeftRun[]): Promise<void>;
  /**
   * Shows typing after 300 ms and then every 5 s until disposed, at most 10 minutes. Takes nothing that an
   * answer needs.
   */
  typing(ref: Place): Disposable;
  /** Puts an emoji under the message, or the one it corrects; within 10 s and the rate limit, or rejects. */
  react(message: InboundMessage, emoji: string, signal: AbortSignal): Promise<void>;
  /**
   * Where the answer of one attempt at this run is shown, while it is being written and in the end. The
   * caller opens it, hands it the result, and ends it, also when the run failed.
   */
  answer(row: RunRow): AnswerPlace;
  /**
   * What these runs say is not seen from now on, because their chat is in another topic: their drafts end.
   */
  hide(isHidden: (row: RunRow) => boolean): void;
  /** Takes every event of every run: the text of those that run now is shown while it grows. */
  readonly observe: Emit;
  /** Resolves when no lane has anything left, those that wait for a retry included. */
  idle(): Promise<void>;
  /**
   * Shuts down. Goes on sending for at most `ms`, then begins no new send and gives what is under way 5 s
   * more. What is left stays PENDING in the journal. Resolves when nothing runs any more; delivery cannot be
   * used again.
   */
  drain(ms: number): Promise<void>;
  /** Resolves when no send of this channel is under way. While it is not `ready`, none begins. */
  quiet(channel: string): Promise<void>;
  /** Sends of this channel that are under way. */
  sending(channel: string): number;
  /** Lanes with work, and sends under way. */
  stats(): { readonly lanes: number; readonly sending: number };
}

/** At once per channel: a platform that hangs holds up only itself. */
const SENDS_PER_CHANNEL = 64;
/** What a send gets after the drain's end: one cut off halfway is UNKNOWN for ever on a blind channel. */
const LAST_SENDS_MS = 5_000;

export function createDelivery(options: DeliveryOptions): Delivery {
  return new Outbox(options);
}

class Outbox implements Delivery {
  readonly #context: LaneContext;
  readonly #stop = new AbortController();
  readonly #kill = new AbortController();
  readonly #lanes = new Map<string, { readonly lane: Lane; readonly done: Promise<void> }>();
  readonly #signs: Signs;
  /** Poked lanes that start in the next microtask. */
  readonly #poked = new Set<string>();
  readonly #parked: ParkedLanes;
  readonly #shown: Pick<AnswerPlaceOptions, 'shows' | 'view'>;
  /** Of the runs that run now, by the run's key. */
  readonly #answers = new Map<string, AnswerPlace>();
  readonly #idlers: (() => void)[] = [];
  /** Monotonic ms. */
  #deadline = Number.POSITIVE_INFINITY;
  #draining: Promise<void> | undefined;

  constructor(options: DeliveryOptions) {
    const { journal, channels, clock } = options;
    const outages = new Outages(clock);
    const ready = (channel: Channel): boolean =>
      (options.ready?.(channel) ?? true) && outages.isOpen({ channel: channel.name, account: channel.account });
    const budget = createBudget(clock);
    const drafts = new Drafts({
      ...{ journal, budget, clock, pace: new Pace(clock), kill: this.#kill.signal },
      channel: (message) => this.#channelOf(message),
      poke: (lane) => this.poke(lane),
    });
    this.#context = {
      ...{ journal, channels, clock, ready, budget, drafts, outages, emit: options.emit },
      poke: (lane) => this.poke(lane),
      times: new RowTimes(clock),
      random: options.random,
      slots: createSlots(SENDS_PER_CHANNEL),
      blind: options.policy?.blind ?? 'at_most_once',
      maxAttempts: options.maxAttempts,
      sendTimeoutMs: options.sendTimeoutMs ?? 60_000,
      stop: this.#stop.signal,
      kill: this.#kill.signal,
      deadline: () => this.#deadline,
    };
    const { reactions, streams = () => true, statusLine = () => false, view = async () => ({ isSeen: true }) } = options;
    this.#shown = { shows: (name) => ({ words: streams(name), status: statusLine(name) }), view };
    const channel = (message: InboundMessage): Channel | undefined => this.#channelOf(message);
    this.#signs = new Signs({ channels, channel, budget, clock, reactions, stop: this.#stop.signal });
    const canSend = (sender: Sender): boolean => this.#channelOf(sender) !== undefined;
    this.#parked = new ParkedLanes({ clock, ready: canSend, start: (lane) => this.#start(lane) });
  }

  /**
   * Lanes poked in one step start together, in a microtask: what they commit then shares the sync of the
   * commit that poked them.
   */
  poke(lane: string): void {
    if (this.#poked.size === 0) queueMicrotask(() => this.#startPoked());
    this.#poked.add(lane);
  }

  pokeChannel(name: string): void {
    const prefix = laneKey({ channel: name, account: '', chatId: '' }).slice(0, -1);
    for (const [key, { lane }] of this.#lanes) if (key.startsWith(prefix)) lane.poke();
    this.#signs.channelReady(name);
    this.#parked.look();
  }

  async recover(sending: readonly OutboxRow[], pending: readonly PendingLane[], left: readonly LeftRun[] = []): Promise<void> {
    this.#signs.left(left);
    const inherited = new Map<string, OutboxRow[]>();
    for (const row of sending) {
      if (await settleInterrupted(row, this.#context)) continue;
      inherited.set(row.lane, [...(inherited.get(row.lane) ?? []), row]);
    }
    for (const [lane, rows] of inherited) this.#start(lane, rows);
    const now = this.#context.clock.now();
    for (const { lane, expiresAt } of pending)
      if (!this.#lanes.has(lane)) this.#parked.park(lane, senderOf(lane), expiresAt - now);
    for (const { lane } of sending) if (!this.#lanes.has(lane)) this.#parked.defer(lane);
    this.#parked.look();
  }

  typing(ref: Place): Disposable {
    return this.#signs.typing(ref);
  }

  react(message: InboundMessage, emoji: string, signal: AbortSignal): Promise<void> {
    const { budget, clock } = this.#context;
    return putReaction(message, emoji, { channel: this.#channelOf(message), budget, clock, signal });
  }

  answer(row: RunRow): AnswerPlace {
    const { journal, clock, emit, channels, drafts } = this.#context;
    const place = new AnswerPlace(row, {
      ...{ journal, clock, emit, ...this.#shown, sign: this.#signs.begin(row) },
      edits: (name) => channels.get(name)?.edit !== undefined,
      draft: (target, shows) => {
        const channel = channels.get(target.channel);
        return channel?.edit && !this.#stop.signal.aborted ? drafts.begin(target, channel, shows) : undefined;
      },
      poke: (lane) => this.poke(lane),
      ended: (ended) => {
        if (this.#answers.get(row.key) === ended) this.#answers.delete(row.key);
      },
    });
    this.#answers.set(row.key, place);
    return place;
  }

  hide(isHidden: (row: RunRow) => boolean): void {
    for (const place of this.#answers.values()) if (isHidden(place.row)) place.hide();
  }

  readonly observe: Emit = (event) => {
    if ('messageId' in event && event.messageId !== undefined) this.#answers.get(event.messageId)?.observe(event);
  };

  idle(): Promise<void> {
    return this.#isIdle() ? Promise.resolve() : new Promise((resolve) => this.#idlers.push(resolve));
  }

  drain(ms: number): Promise<void> {
    this.#draining ??= this.#shutDown(ms);
    return this.#draining;
  }

  quiet(channel: string): Promise<void> {
    return this.#context.slots.quiet(channel);
  }

  sending(channel: string): number {
    return this.#context.slots.taken(channel);
  }

  stats(): { lanes: number; sending: number } {
    return { lanes: this.#lanes.size + this.#parked.size, sending: this.#context.slots.taken() };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.drain(0);
  }

  /** The channel of a message when it can send now. */
  #channelOf({ channel: name, account }: Sender): Channel | undefined {
    const { channels, ready } = this.#context;
    const channel = channels.get(name);
    return channel && channel.account === account && ready(channel) ? channel : undefined;
  }

  #startPoked(): void {
    const lanes = [...this.#poked];
    this.#poked.clear();
    for (const lane of lanes) if (this.#parked.release(lane)) this.#start(lane);
    this.#tellIdle();
  }

  #start(key: string, inherited: readonly OutboxRow[] = []): void {
    if (this.#stop.signal.aborted) return;
    const running = this.#lanes.get(key);
    const lane = running?.lane ?? new Lane(key, this.#context);
    for (const row of inherited) lane.inherit(row);
    if (running) lane.poke();
    else this.#lanes.set(key, { lane, done: lane.run().then(() => this.#ended(key, lane)) });
  }

  #ended(key: string, lane: Lane): void {
    this.#lanes.delete(key);
    const { parked } = lane;
    if (parked && this.#deadline === Number.POSITIVE_INFINITY) this.#parked.park(key, parked.sender, parked.leftMs);
    this.#parked.ended(key);
    // A poke between the lane's last look and this moment would be lost.
    if (lane.poked && this.#deadline === Number.POSITIVE_INFINITY && this.#parked.release(key)) this.#start(key);
    this.#tellIdle();
  }

  #isIdle(): boolean {
    return this.#lanes.size === 0 && this.#poked.size === 0 && this.#parked.size === 0;
  }

  #tellIdle(): void {
    if (this.#isIdle()) for (const resolve of this.#idlers.splice(0)) resolve();
  }

  async #shutDown(ms: number): Promise<void> {
    this.#deadline = this.#context.clock.monotonic() + ms;
    this.#startPoked();
    this.#parked.clear();
    // Lanes that wait for something later than that end now.
    for (const { lane } of this.#lanes.values()) lane.poke();
    await this.#idleWithin(ms);
    this.#stop.abort(new Error('delivery stopped'));
    await this.#idleWithin(LAST_SENDS_MS);
    this.#kill.abort(new Error('delivery stopped'));
    await this.idle();
    await this.#signs.settled();
    await this.#context.drafts.stop();
  }

  async #idleWithin(ms: number): Promise<void> {
    const finished = new AbortController();
    await Promise.race([this.idle(), pause(this.#context.clock, ms, finished.signal)]);
    finished.abort(NO_LONGER_NEEDED);
  }
}
