import type { BackgroundLine, InboundMessage } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';

/** Newest messages of a group that are kept. */
const MAX_LINES = 30;
/** Of one message, in UTF-16 units. */
const MAX_CHARS = 1_000;
/** Of all kept messages of one group together, in UTF-16 units: a fraction of what a conversation may take. */
const MAX_TOTAL_CHARS = 8_000;
/** Groups that are remembered; the one silent for longest goes first. */
const MAX_LANES = 500;
const MAX_AGE_MS = 24 * 3_600_000;

interface Kept extends BackgroundLine {
  readonly platformId: string;
  readonly at: number;
}

/**
 * What people who may write said in a group without addressing the agent, until somebody does: then it is background of that message
 * and is stored with it. In memory only: a restart costs background, never a message.
 */
export class Backlog {
  readonly #clock: Clock;
  /** In order of the newest message. */
  readonly #lanes = new Map<string, Kept[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  remember(lane: string, { platformId, senderName, text }: InboundMessage): void {
    const lines = this.#fresh(lane).filter((line) => line.platformId !== platformId);
    const cut = text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS).toWellFormed()}…` : text;
    lines.push({ platformId, senderName, text: cut, at: this.#clock.now() });
    let total = lines.reduce((sum, line) => sum + line.text.length, 0);
    while (lines.length > MAX_LINES || total > MAX_TOTAL_CHARS) total -= lines.shift()?.text.length ?? 0;
    this.#lanes.delete(lane);
    this.#lanes.set(lane, lines);
    const [oldest] = this.#lanes.keys();
    if (this.#lanes.size > MAX_LANES && oldest !== undefined) this.#lanes.delete(oldest);
  }

  /** Oldest first; empty when nothing was said. */
  lines(lane: string): readonly BackgroundLine[] {
    return this.#fresh(lane).map(({ senderName, text }) => ({ senderName, text }));
  }

  /** It is stored with a message now. */
  forget(lane: string): void {
    this.#lanes.delete(lane);
  }

  #fresh(lane: string): Kept[] {
    const since = this.#clock.now() - MAX_AGE_MS;
    return (this.#lanes.get(lane) ?? []).filter(({ at }) => at >= since);
  }
}
