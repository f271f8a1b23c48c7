import { channelOf, laneKey, principalOf } from '../core/ids.ts';
import type { InboundMessage, RefusalReason } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import type { Clock } from '../core/ports.ts';
import type { Admission, Load, Runs } from '../core/run.ts';

/**
 * Shares of the high-water mark: of a lane, of a sender, and what only lanes with nothing waiting may use.
 */
const OF_LANE = 1 / 20;
const OF_SENDER = 1 / 10;
const RESERVED = 1 / 10;
/** A small mark leaves people room for a handful of messages all the same. */
const LEAST = { lane: 20, sender: 40, unsent: 50 };
const MIB = 1024 * 1024;
const BYTES = { lane: 8 * MIB, sender: 16 * MIB, all: 256 * MIB };
/** Who went on is told again after this long. */
const TELL_AGAIN_MS = 600_000;

export interface FloodsOptions {
  readonly journal: Pick<Runs, 'room' | 'load'>;
  readonly highWater: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly answer: (message: InboundMessage, text: string) => readonly NewPart[];
}

type Admitted = Extract<Admission, { kind: 'admit' }>;

const FLOOD: RefusalReason = 'flood';

/** What may become a row: a delete never does. */
function isCounted(admission: Admission): admission is Admitted {
  const { kind } = admission.message;
  return admission.kind === 'admit' && (kind === 'message' || kind === 'edit');
}

function isNotice(admission: Admission): boolean {
  return admission.kind === 'answer' && admission.outcome === FLOOD;
}

interface Bounds {
  readonly messages: number;
  readonly bytes: number;
}

/**
 * Bounds what may wait, per lane and per sender, so that one who sends faster than the agent answers fills
 * only their own share: what goes beyond it is refused, they are told once, and all others are answered as
 * ever. The total is bounded by `isFull`: then the platform keeps what it has, except what comes from lanes
 * with nothing waiting, for which a tenth is reserved.
 */
export class Floods {
  readonly #options: FloodsOptions;
  readonly #bounds: { readonly lane: Bounds; readonly sender: Bounds };
  /** Let in, and not yet on disk. */
  readonly #entering = new Map<string, number>();
  /** Lanes and senders that were told, and when. The oldest first. */
  readonly #told = new Map<string, number>();

  constructor(options: FloodsOptions) {
    this.#options = options;
    const { highWater } = options;
    this.#bounds = {
      lane: { messages: Math.max(LEAST.lane, Math.floor(highWater * OF_LANE)), bytes: BYTES.lane },
      sender: { messages: Math.max(LEAST.sender, Math.floor(highWater * OF_SENDER)), bytes: BYTES.sender },
    };
  }

  /**
   * Whether the batch has to be offered again later. Over the mark by at most one batch: a larger one would
   * be offered for ever.
   */
  isFull(batch: readonly InboundMessage[]): boolean {
    const { journal, highWater } = this.#options;
    const room = journal.room();
    const { bytes } = journal.load('all', '');
    if (batch.length === 0) return false;
    if (room <= 0 || bytes >= BYTES.all) return true;
    // Answers that cannot be sent pile up as well; other channels take theirs as ever.
    const unsent = batch.map((message) => journal.load('outbox', channelOf(laneKey(message))));
    if (unsent.some((load) => load.messages >= Math.max(LEAST.unsent, highWater) || load.bytes >= BYTES.all)) return true;
    const isScarce = room <= Math.floor(highWater * RESERVED) || bytes >= BYTES.all * (1 - RESERVED);
    return isScarce && batch.every((message) => journal.load('lane', laneKey(message)).messages > 0);
  }

  /**
   * As it was, or refused because too much of its lane or sender waits. An edit of what waits adds nothing and
   * is taken all the same: whether it is one is known in the transaction. `entered` is called when it is on
   * disk, or is not to be.
   */
  judge(admission: Admission): Admission {
    if (!isCounted(admission)) return admission;
    const over = this.#keys(admission).find(([kind, key]) => this.#isOver(kind, key));
    if (!over) {
      for (const [kind, key] of this.#keys(admission)) this.#enter(`${kind} ${key}`, 1);
      return admission;
    }
    const refused = () => this.#refused(admission, over.join(' '));
    return admission.message.kind === 'edit' ? { ...admission, ifOwnRow: refused } : refused();
  }

  /** The batch was committed, or was not: then those who were told of it in vain are told again. */
  entered(judged: readonly Admission[], committed: boolean): void {
    for (const admission of judged) {
      const isOver = admission.kind === 'admit' ? admission.ifOwnRow !== undefined : isNotice(admission);
      if (isOver && !committed) this.#told.clear();
      if (isOver || !isCounted(admission)) continue;
      for (const [kind, key] of this.#keys(admission)) this.#enter(`${kind} ${key}`, -1);
    }
  }

  #refused({ message, lane, session }: Admitted, over: string): Exclude<Admission, Admitted> {
    if (message.overheard || !this.#tell(over)) return { kind: 'refuse', message, reason: FLOOD };
    return { kind: 'answer', message, lane, session, outcome: FLOOD, parts: this.#options.answer(message, TOO_MANY) };
  }

  #keys({ message, lane }: Admitted): readonly (readonly ['lane' | 'sender', string])[] {
    return [
      ['lane', lane],
      ['sender', principalOf(message)],
    ];
  }

  #isOver(kind: 'lane' | 'sender', key: string): boolean {
    const load: Load = this.#options.journal.load(kind, key);
    const { messages, bytes } = this.#bounds[kind];
    return load.messages + (this.#entering.get(`${kind} ${key}`) ?? 0) >= messages || load.bytes >= bytes;
  }

  #enter(key: string, change: 1 | -1): void {
    const count = (this.#entering.get(key) ?? 0) + change;
    if (count > 0) this.#entering.set(key, count);
    else this.#entering.delete(key);
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

const TOO_MANY =
  '⚠️ Too many messages are waiting here. I answer those that I have, and take no more until there is room: please send this one again later.';
