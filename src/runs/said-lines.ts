import { chatKey, isLaneOf, messageKey, principalOf, senderOf } from '../core/ids.ts';
import { type InboundMessage, mayChange } from '../core/message.ts';

/**
 * Of all kept messages of one conversation together, in UTF-16 units: a fraction of what a conversation may
 * take.
 */
const MAX_TOTAL_CHARS = 8_000;
/** Conversations that are remembered; the one silent for longest goes first. */
const MAX_PLACES = 500;

export interface SaidLine {
  /** Of the message that was said, or that the reaction is about. */
  readonly id: string;
  readonly senderId: string;
  readonly senderName: string;
  text: string;
  marks: InboundMessage['marks'];
  at: number;
  /** The thread that answers to it would stand in. */
  readonly opens?: string;
  /**
   * Places in which it is stored with a message already. It is kept, so that the platform can repeat it
   * without effect.
   */
  readonly toldIn: Set<string>;
}

/** The newest lines of each place: a chat or a thread, by its `laneKey`. In memory only. */
export class SaidLines {
  readonly #maxLines: number;
  /** In order of the newest line. */
  readonly #places = new Map<string, SaidLine[]>();

  constructor(maxLines: number) {
    this.#maxLines = maxLines;
  }

  lines(place: string): readonly SaidLine[] {
    return this.#places.get(place) ?? [];
  }

  add(place: string, line: SaidLine, since: number): void {
    const lines = [...this.lines(place).filter(({ at }) => at >= since), line];
    let total = lines.reduce((sum, { text }) => sum + text.length, 0);
    while (lines.length > this.#maxLines || total > MAX_TOTAL_CHARS) total -= lines.shift()?.text.length ?? 0;
    this.#places.delete(place);
    this.#places.set(place, lines);
    const [oldest] = this.#places.keys();
    if (this.#places.size > MAX_PLACES && oldest !== undefined) this.#places.delete(oldest);
  }

  /** The line about that message which this one, of the same chat, may change. */
  find(message: InboundMessage, targetId: string | undefined): SaidLine | undefined {
    return this.#search(message, targetId)?.line;
  }

  remove(message: InboundMessage): void {
    const found = this.#search(message, message.targetId);
    if (!found) return;
    const rest = this.lines(found.place).filter((line) => line !== found.line);
    if (rest.length > 0) this.#places.set(found.place, rest);
    else this.#places.delete(found.place);
  }

  /** All lines of this person that were said or put up to this time (epoch ms), wherever on their channel. */
  forget(principal: string, until: number): void {
    for (const [place, lines] of this.#places) {
      const { channel } = senderOf(place);
      const rest = lines.filter(({ senderId, at }) => at > until || principalOf({ channel, senderId }) !== principal);
      if (rest.length === 0) this.#places.delete(place);
      else this.#places.set(place, rest);
    }
  }

  /** In all threads of the chat: not every platform tells in which the changed message stood. */
  #search(message: InboundMessage, targetId: string | undefined): { place: string; line: SaidLine } | undefined {
    if (targetId === undefined) return undefined;
    const [id, chat] = [lineId(message, targetId), chatKey(message)];
    for (const [place, lines] of this.#places) {
      if (!isLaneOf(place, chat)) continue;
      const line = lines.find((one) => one.id === id && mayChange(message, one.senderId));
      if (line) return { place, line };
    }
    return undefined;
  }
}

/** Of a line: the key of the message that it is, or is about. */
export function lineId({ channel, account }: InboundMessage, platformId: string): string {
  return messageKey({ channel, account, platformId });
}
