import type { Emit } from '../core/events.ts';
import { channelOf, laneKey, principalOf } from '../core/ids.ts';
import type { InboundMessage, WaitingLimit } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import type { Clock } from '../core/ports.ts';
import type { Admission } from '../core/run.ts';
import type { Load, Runs } from '../core/runs.ts';

/**
 * Shares of the high-water mark: of a lane and of a sender where the config names no number, and what only
 * lanes with nothing waiting may use.
 */
const OF_LANE = 1 / 20;
const OF_SENDER = 1 / 10;
/** Of what may wait in a group, as long as it is there to be shared: the rest is for the other people. */
const OF_GROUP = 1 / 2;
const RESERVED = 1 / 10;
/** A small mark leaves people room for a handful of messages all the same. */
const LEAST = { lane: 20, sender: 40, unsent: 50 };
const MIB = 1024 * 1024;
/** Who went on is told again after this long. */
const TELL_AGAIN_MS = 600_000;
/** At the limit batches are refused and taken by turns: only after this long without a refusal it is over. */
const RESUMED_MS = 60_000;
/**
 * Answers that one person gets at once (`/help`, `/why`) within a minute. They do not wait as messages do,
 * but are sent one after the other: a thousand of them would stop the channel for all.
 */
const MOST_AT_ONCE = 20;
const AT_ONCE_MS = 60_000;

/** Section `limits` of the config. */
export interface WaitingLimits {
  /** Absent: a share of the high-water mark. */
  readonly person_messages?: number | undefined;
  readonly person_mb: number;
  readonly chat_messages?: number | undefined;
  readonly chat_mb: number;
  readonly total_mb: number;
}

export interface FloodsOptions {
  readonly journal: Pick<Runs, 'room' | 'load'>;
  readonly highWater: number;
  /** Asked at each use. */
  readonly limits: () => WaitingLimits;
  readonly clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly emit: Emit;
  readonly answer: (message: InboundMessage, text: string) => readonly NewPart[];
}

type Admitted = Extract<Admission, { kind: 'admit' }>;

/** What may become a row: a delete never does. */
function isCounted(admission: Admission): admission is Admitted {
  const { kind } = admission.message;
  return admission.kind === 'admit' && (kind === 'message' || kind === 'edit');
}

function isNotice(admission: Admission): boolean {
  return admission.kind === 'answer' && admission.outcome.startsWith('flood:');
}

/** The outcome of a command that was left alone. */
const TOLD_AT_ONCE = 'flood:at-once';

type Kind = 'lane' | 'sender' | 'within';

/** What is met, and whose it is. */
interface Over {
  readonly limit: WaitingLimit;
  readonly key: string;
}

/**
 * Bounds what may wait, per lane and per sender, so that one who sends faster than the agent answers fills
 * only their own share: what goes beyond it is refused, they are told once, and all others are answered as
 * ever. Of what may wait in a group no person has more than half. The total is bounded by `isFull`: then the
 * platform keeps what it has, except what comes from lanes with nothing waiting, for which a tenth is
 * reserved.
 */
export class Floods {
  readonly #options: FloodsOptions;
  /** Let in, and not yet on disk: under each of their keys, and how many in all. */
  readonly #entering = new Map<string, number>();
  #allEntering = 0;
  /** Lanes and senders that were told, channels of which the operator was, and when. The oldest first. */
  readonly #told = new Map<string, number>();
  /** By channel whose platform is asked to hold its messages: when a batch of it was refused last. */
  readonly #held = new Map<string, number>();
  /** By principal, the one who was answered at once last at the end: when that was, lately. */
  readonly #atOnce = new Map<string, readonly number[]>();

  constructor(options: FloodsOptions) {
    this.#options = options;
  }

  /**
   * Whether the batch has to be offered again later. Over the mark by at most one batch: a larger one would
   * be offered for ever.
   */
  isFull(batch: readonly InboundMessage[]): boolean {
    const [first] = batch;
    if (first === undefined) return false;
    const { emit, clock } = this.#options;
    const { channel } = first;
    const reason = this.#whyFull(batch);
    if (reason === undefined) {
      this.#resume(channel);
      return false;
    }
    this.#held.set(channel, clock.monotonic());
    if (this.#tell(`intake ${channel}`)) emit({ type: 'intake.held', at: clock.now(), channel, code: 'GH1509', reason });
    return true;
  }

  #resume(channel: string): void {
    const { emit, clock } = this.#options;
    const heldAt = this.#held.get(channel);
    if (heldAt === undefined || clock.monotonic() - heldAt < RESUMED_MS) return;
    this.#held.delete(channel);
    this.#told.delete(`intake ${channel}`);
    emit({ type: 'intake.resumed', at: clock.now(), channel });
  }

  #whyFull(batch: readonly InboundMessage[]): string | undefined {
    const { journal, highWater, limits } = this.#options;
    const { total_mb: mb } = limits();
    const most = mb * MIB;
    const room = journal.room();
    const { bytes } = journal.load('all', '');
    const byCount = `messages up to gateway.high_water (${highWater}) wait`;
    const bySize = `messages up to limits.total_mb (${mb} MB) wait`;
    if (room <= 0) return byCount;
    if (bytes >= most) return bySize;
    // Answers that cannot be sent pile up as well; other channels take theirs as ever.
    const unsent = batch.map((message) => journal.load('outbox', channelOf(laneKey(message))));
    if (unsent.some((load) => load.messages >= Math.max(LEAST.unsent, highWater)))
      return `answers up to gateway.high_water (${highWater}) are to be sent there`;
    if (unsent.some((load) => load.bytes >= most)) return `answers up to limits.total_mb (${mb} MB) are to be sent there`;
    const isLow = room <= Math.floor(highWater * RESERVED);
    const isScarce = isLow || bytes >= most * (1 - RESERVED);
    if (!isScarce || !batch.every((message) => journal.load('lane', laneKey(message)).messages > 0)) return undefined;
    return `${isLow ? byCount : bySize}, but for a tenth that is kept for chats in which nothing waits`;
  }

  /**
   * As it was, or refused because too much of its lane or sender waits. An edit of what waits adds nothing
   * and is taken all the same: whether it is one is known in the transaction. `entered` is to be called when
   * it is on disk, or is not to be.
   */
  judge(admission: Admission): Admission {
    if (admission.kind === 'answer') return this.#judgeAtOnce(admission);
    if (!isCounted(admission)) return admission;
    const over = this.#over(admission);
    if (!over) {
      this.#enter(admission, 1);
      return admission;
    }
    const refused = () => this.#refused(admission, over);
    return admission.message.kind === 'edit' ? { ...admission, ifOwnRow: refused } : refused();
  }

  /** The batch was committed, or was not: then those who were told of it in vain are told again. */
  entered(judged: readonly Admission[], committed: boolean): void {
    for (const admission of judged) {
      const isOver = admission.kind === 'admit' ? admission.ifOwnRow !== undefined : isNotice(admission);
      if (isOver && !committed) this.#told.clear();
      // It comes again, and is counted again.
      if (admission.kind === 'answer' && !committed) this.#atOnce.delete(principalOf(admission.message));
      if (isOver || !isCounted(admission)) continue;
      this.#enter(admission, -1);
    }
  }

  /** What it ends or settles holds in any case, and what it ended is told. */
  #judgeAtOnce(admission: Extract<Admission, { kind: 'answer' }>): Admission {
    const { message, lane, session, isStranger, settles, cancels } = admission;
    const principal = principalOf(message);
    if (isStranger || settles || !this.#isTooOften(principal)) return admission;
    if (cancels) return { ...admission, parts: [] };
    if (!this.#tell(`at-once ${principal}`)) return { kind: 'refuse', message, reason: 'loop-cap' };
    const parts = this.#options.answer(message, TOO_OFTEN);
    return { kind: 'answer', message, lane, session, outcome: TOLD_AT_ONCE, parts };
  }

  #isTooOften(principal: string): boolean {
    const now = this.#options.clock.monotonic();
    const isPast = (at: number) => at + AT_ONCE_MS <= now;
    for (const [other, times] of this.#atOnce) {
      if (!times.every(isPast)) break;
      this.#atOnce.delete(other);
    }
    const lately = (this.#atOnce.get(principal) ?? []).filter((at) => !isPast(at));
    if (lately.length >= MOST_AT_ONCE) return true;
    this.#atOnce.delete(principal);
    this.#atOnce.set(principal, [...lately, now]);
    return false;
  }

  #refused({ message, lane, session }: Admitted, { limit, key }: Over): Exclude<Admission, Admitted> {
    const reason = `flood:${limit}` as const;
    if (message.overheard || !this.#tell(key)) return { kind: 'refuse', message, reason };
    return { kind: 'answer', message, lane, session, outcome: reason, parts: this.#options.answer(message, TOO_MANY) };
  }

  #keys({ message, lane }: Admitted): readonly (readonly [Kind, string])[] {
    return [
      ['lane', lane],
      ['sender', principalOf(message)],
      ...(message.isGroup ? [['within', `${lane} ${principalOf(message)}`] as const] : []),
    ];
  }

  #over(admission: Admitted): Over | undefined {
    if (this.#isFar()) return undefined;
    for (const [kind, key] of this.#keys(admission)) {
      const limit = kind === 'within' ? this.#shareMet(admission, key) : this.#limitMet(kind, key);
      if (limit) return { limit, key: `${kind} ${key}` };
    }
    return undefined;
  }

  /** All that waits, of whomever, would meet no limit yet: then one look does for all of them. */
  #isFar(): boolean {
    const { chat_mb: ofChat, person_mb: ofPerson } = this.#options.limits();
    const { messages, bytes } = this.#options.journal.load('all', '');
    const most = Math.min(this.#chatMost() * OF_GROUP, this.#personMost());
    return messages + this.#allEntering < most && bytes < Math.min(ofChat * OF_GROUP, ofPerson) * MIB;
  }

  #chatMost(): number {
    return this.#options.limits().chat_messages ?? Math.max(LEAST.lane, Math.floor(this.#options.highWater * OF_LANE));
  }

  #personMost(): number {
    return this.#options.limits().person_messages ?? Math.max(LEAST.sender, Math.floor(this.#options.highWater * OF_SENDER));
  }

  /**
   * The limit of a group of which this person has their share. Their rows are looked at only once it can be.
   */
  #shareMet({ message, lane }: Admitted, key: string): WaitingLimit | undefined {
    const { journal } = this.#options;
    if (!this.#chatLimit(journal.load('lane', lane), `lane ${lane}`, OF_GROUP)) return undefined;
    return this.#chatLimit(journal.load('lane', lane, principalOf(message)), `within ${key}`, OF_GROUP);
  }

  /** `entering`: under which key those are counted that are not on disk yet. */
  #chatLimit(load: Load, entering: string, share: number): WaitingLimit | undefined {
    const { chat_mb: megabytes } = this.#options.limits();
    if (load.messages + (this.#entering.get(entering) ?? 0) >= this.#chatMost() * share) return 'chat_messages';
    return load.bytes >= megabytes * MIB * share ? 'chat_mb' : undefined;
  }

  #limitMet(kind: 'lane' | 'sender', key: string): WaitingLimit | undefined {
    const { journal, limits } = this.#options;
    const load: Load = journal.load(kind, key);
    if (kind === 'lane') return this.#chatLimit(load, `lane ${key}`, 1);
    const messages = load.messages + (this.#entering.get(`sender ${key}`) ?? 0);
    if (messages >= this.#personMost()) return 'person_messages';
    return load.bytes >= limits().person_mb * MIB ? 'person_mb' : undefined;
  }

  #enter(admission: Admitted, change: 1 | -1): void {
    this.#allEntering += change;
    for (const [kind, key] of this.#keys(admission)) {
      const entry = `${kind} ${key}`;
      const count = (this.#entering.get(entry) ?? 0) + change;
      if (count > 0) this.#entering.set(entry, count);
      else this.#entering.delete(entry);
    }
  }

  #tell(key: string): boolean {
    const now = this.#options.clock.monotonic();
    for (const [told, at] of this.#told) {
      if (at + TELL_AGAIN_MS > now) break;
      this.#told.delete(told);
    }
    if (this.#told.has(key)) return false;
    this.#told.set(key, now);
    return true;
  }
}

const TOO_OFTEN = `⚠️ I answer ${MOST_AT_ONCE} commands a minute, and left this one alone. Nothing was changed: please send it again in a minute, and all that follow it.`;

const TOO_MANY =
  '⚠️ Too many messages are waiting here. I answer those that I have, and take no more until there is room: please send this one again later.';
