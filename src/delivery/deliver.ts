/**
 * Delivery: the outbox's way to the platforms (design 3, steps 7 and 8). poke(lane) -> lane.ts: wait for the turn -> commit 5
 * SENDING -> attempt.ts: wire call -> outcome.ts: what it means -> commit 6.
 */
import type { Channel } from '../core/channel.ts';
import type { Emit } from '../core/events.ts';
import { laneKey } from '../core/ids.ts';
import type { Journal, OutboxRow } from '../core/journal.ts';
import type { ChatRef } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';
import { pause } from './attempt.ts';
import { createBudget } from './budget.ts';
import { interruptedOutcome, Lane, type LaneContext, outcomeContext } from './lane.ts';
import type { BlindPolicy } from './outcome.ts';
import { settledEvent } from './settled-event.ts';
import { createSlots } from './slots.ts';
import { showTyping } from './typing.ts';

export interface DeliveryOptions {
  readonly journal: Journal;
  /** By instance name; read at each use, so channels may come and go. Parts of an absent one wait until they expire. */
  readonly channels: ReadonlyMap<string, Channel>;
  /** Whether a channel can send now; parts wait while it cannot. Default: as soon as it is in the map. */
  readonly ready?: (channel: Channel) => boolean;
  readonly clock: Clock;
  /** 0 <= x < 1; for jitter. */
  readonly random: () => number;
  readonly emit: Emit;
  /** What channels of class `blind` do when nobody can know whether a part arrived. Default at_most_once. */
  readonly policy?: { readonly blind: BlindPolicy };
  /** Then DEAD. Default 8. */
  readonly maxAttempts?: number;
  /** Of one wire call. Default 60 000. */
  readonly sendTimeoutMs?: number;
}

export interface Delivery extends AsyncDisposable {
  /** The lane has new parts, or its channel came back. Cheap; call it after every commit that adds parts. Ignored once stopped. */
  poke(lane: string): void;
  /** Wakes every waiting lane of a channel: call it when the channel turned healthy. Otherwise they look every 5 s. */
  pokeChannel(name: string): void;
  /**
   * Once, after `journal.recover` and before channels start: settles SENDING rows of an earlier boot by send class and starts the
   * lanes. `idem` and `blind` are settled when it resolves; `find` is asked by the lane, before anything new, once its channel is ready.
   */
  recover(sending: readonly OutboxRow[], lanes: readonly string[]): Promise<void>;
  /** Shows typing at once and every 5 s until disposed, at most 10 minutes. Never takes what an answer needs. */
  typing(ref: ChatRef): Disposable;
  /** Resolves when no lane has anything left, those that wait for a retry included. */
  idle(): Promise<void>;
  /**
   * Shutdown. Goes on sending for at most `ms`, then begins no new send and gives what is under way 5 s more. What is left stays PENDING
   * in the journal. Resolves when nothing runs any more; delivery cannot be used again.
   */
  drain(ms: number): Promise<void>;
  /** Lanes with work, and sends under way. */
  stats(): { readonly lanes: number; readonly sending: number };
}

/** At once per channel: a platform that hangs holds up only itself. */
const SENDS_PER_CHANNEL = 64;
/** A send cut off halfway is UNKNOWN for ever on a blind channel, so it gets this long after the drain's end. */
const LAST_SENDS_MS = 5_000;

export function createDelivery(options: DeliveryOptions): Delivery {
  const { journal, channels, clock, emit } = options;
  const stop = new AbortController();
  const kill = new AbortController();
  let deadline = Number.POSITIVE_INFINITY;
  const lanes = new Map<string, { readonly lane: Lane; readonly done: Promise<void> }>();
  const idlers: (() => void)[] = [];
  const typings = new Set<Promise<void>>();
  let draining: Promise<void> | undefined;
  const context: LaneContext = {
    journal,
    channels,
    clock,
    emit,
    ready: options.ready ?? (() => true),
    random: options.random,
    budget: createBudget(clock),
    slots: createSlots(SENDS_PER_CHANNEL),
    blind: options.policy?.blind ?? 'at_most_once',
    maxAttempts: options.maxAttempts ?? 8,
    sendTimeoutMs: options.sendTimeoutMs ?? 60_000,
    stop: stop.signal,
    kill: kill.signal,
    deadline: () => deadline,
    provenAbsent: new Set(),
  };
  return {
    poke: (lane) => start(lane),
    pokeChannel,
    recover,
    typing,
    idle,
    drain,
    stats: () => ({ lanes: lanes.size, sending: context.slots.taken() }),
    [Symbol.asyncDispose]: () => drain(0),
  };

  function start(key: string, inherited: readonly OutboxRow[] = []): void {
    if (stop.signal.aborted) return;
    const running = lanes.get(key);
    if (running) {
      for (const row of inherited) running.lane.inherit(row);
      running.lane.poke();
      return;
    }
    const lane = new Lane(key, context);
    for (const row of inherited) lane.inherit(row);
    lanes.set(key, { lane, done: lane.run().then(() => ended(key, lane)) });
  }

  function ended(key: string, lane: Lane): void {
    lanes.delete(key);
    // A poke between the lane's last look and this moment would be lost.
    if (lane.poked && deadline === Number.POSITIVE_INFINITY) start(key);
    if (lanes.size === 0) for (const resolve of idlers.splice(0)) resolve();
  }

  function pokeChannel(name: string): void {
    const prefix = laneKey({ channel: name, account: '', chatId: '' }).slice(0, -1);
    for (const [key, { lane }] of lanes) if (key.startsWith(prefix)) lane.poke();
  }

  async function recover(sending: readonly OutboxRow[], pending: readonly string[]): Promise<void> {
    const inherited = new Map<string, OutboxRow[]>();
    for (const row of sending) {
      if (await settleInterrupted(row, channels.get(row.part.channel), context)) continue;
      inherited.set(row.lane, [...(inherited.get(row.lane) ?? []), row]);
    }
    for (const lane of new Set([...pending, ...sending.map((row) => row.lane)])) start(lane, inherited.get(lane));
  }

  function typing(ref: ChatRef): Disposable {
    const shown = showTyping(ref, { channels, budget: context.budget, clock, signal: stop.signal });
    const done = shown.done.finally(() => typings.delete(done));
    typings.add(done);
    return shown;
  }

  function idle(): Promise<void> {
    return lanes.size === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve));
  }

  function drain(ms: number): Promise<void> {
    draining ??= shutDown(ms);
    return draining;
  }

  async function shutDown(ms: number): Promise<void> {
    deadline = clock.monotonic() + ms;
    // Lanes that wait for something later than that end now.
    for (const { lane } of lanes.values()) lane.poke();
    await before(idle(), ms);
    stop.abort(new Error('delivery stopped'));
    await before(idle(), LAST_SENDS_MS);
    kill.abort(new Error('delivery stopped'));
    await idle();
    await Promise.all(typings);
  }

  /** Waits for `done`, but no longer than `ms`. */
  async function before(done: Promise<void>, ms: number): Promise<void> {
    const finished = new AbortController();
    await Promise.race([done, pause(clock, ms, finished.signal)]);
    finished.abort();
  }
}

/** Settles at once what needs no question to the platform; `false` leaves the row to its lane, also when the journal cannot write now. */
async function settleInterrupted(row: OutboxRow, channel: Channel | undefined, context: LaneContext): Promise<boolean> {
  if (!channel || channel.sendClass === 'find') return false;
  const { journal, clock, emit } = context;
  const before = { ...row, attempts: row.attempts - 1 };
  const { settlement } = interruptedOutcome(before, outcomeContext(before, channel, context));
  try {
    await journal.settle(row.seq, settlement);
  } catch {
    return false; // the lane keeps trying, and reports it
  }
  emit(settledEvent(row.part, settlement, clock.now()));
  return true;
}
