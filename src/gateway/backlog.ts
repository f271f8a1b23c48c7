import { chatKey, isLaneOf, laneKey, messageKey } from '../core/ids.ts';
import { type BackgroundLine, type InboundMessage, mayChange } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';
import type { RunRow } from '../core/run.ts';

/** Of one conversation. Counted apart, so that reactions never push out words. */
const MAX_LINES = { words: 30, reactions: 5 };
/** Of one message, in UTF-16 units. */
const MAX_CHARS = 1_000;
/**
 * Of all kept messages of one conversation together, in UTF-16 units: a fraction of what a conversation may
 * take.
 */
const MAX_TOTAL_CHARS = 8_000;
/** Conversations that are remembered; the one silent for longest goes first. */
const MAX_PLACES = 500;
const MAX_AGE_MS = 24 * 3_600_000;
/** Messages without an end whose lines may be given back; the oldest goes first. */
const MAX_HELD = 500;

interface Line {
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

type Said = Pick<InboundMessage, 'text' | 'marks'>;

/** Lines that go with a message. No other message has them until they are given back. */
export interface Taken {
  readonly lines: readonly BackgroundLine[];
  /** The message was not stored, or it is not answered. */
  giveBack(): void;
}

/**
 * What people who may write said in a group without addressing the agent, and how they reacted anywhere,
 * until one of them writes to it: then it is background of that message and is stored with it. Each line is
 * told once. In memory only: a restart costs background, never a message.
 */
export class Backlog {
  readonly #clock: Clock;
  readonly #words = new Shelf(MAX_LINES.words);
  readonly #reactions = new Shelf(MAX_LINES.reactions);
  /** By message id. */
  readonly #held = new Map<string, Taken>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Remembers a message or a reaction; lets an edit, a delete and a reaction taken back change what is
   * remembered.
   */
  note(message: InboundMessage): void {
    switch (message.kind) {
      case 'message':
        if (message.text.trim() !== '' && !this.#words.find(message, message.platformId))
          this.#add(this.#words, message, message);
        break;
      case 'edit':
        if (message.text.trim() === '') this.drop(message);
        else this.#correct(this.#words.find(message, message.targetId), message);
        break;
      case 'delete':
        this.drop(message);
        break;
      case 'reaction':
        this.#react(message);
    }
  }

  /** What this edit or delete changes is talk no more: it addresses the agent now, or is gone. */
  drop(message: InboundMessage): void {
    this.#words.remove(message);
  }

  /** Oldest first; undefined when nothing was said that this conversation was not told yet. */
  take(message: InboundMessage): Taken | undefined {
    const place = placeOf(message);
    const since = this.#clock.now() - MAX_AGE_MS;
    const lines = [...this.#openers(message), ...this.#words.lines(place), ...this.#reactions.lines(place)]
      .filter(({ at, toldIn }) => at >= since && !toldIn.has(place))
      .sort((one, other) => one.at - other.at);
    if (lines.length === 0) return undefined;
    for (const { toldIn } of lines) toldIn.add(place);
    return {
      lines: lines.map(({ senderName, text, marks }) => ({ senderName, text, ...(marks && { marks }) })),
      giveBack: () => {
        for (const { toldIn } of lines) toldIn.delete(place);
      },
    };
  }

  /** The message is stored with what it took. Until it has its end, that may come back. */
  hold({ key }: Pick<RunRow, 'key'>, taken: Taken): void {
    this.#held.set(key, taken);
    const [oldest] = this.#held.keys();
    if (this.#held.size > MAX_HELD && oldest !== undefined) this.#held.delete(oldest);
  }

  /** The turn of the message ended, and what it took is in the session. */
  told(messageId: string): void {
    this.#held.delete(messageId);
  }

  /** The message is not answered: what it took goes with the next one. */
  untold(messageId: string): void {
    this.#held.get(messageId)?.giveBack();
    this.#held.delete(messageId);
  }

  /** In a thread, what it was opened with: that stands in the chat. */
  #openers(message: InboundMessage): readonly Line[] {
    const chat = chatKey(message);
    if (placeOf(message) === chat) return [];
    return this.#words.lines(chat).filter(({ opens }) => opens === laneKey(message));
  }

  #react(message: InboundMessage): void {
    const { text, targetId } = message;
    const words = { text: `(reacted with ${text} to an earlier message)` };
    const known = this.#reactions.find(message, targetId);
    if (text === '') this.#reactions.remove(message);
    else if (known) this.#correct(known, words);
    else this.#add(this.#reactions, message, words);
  }

  #add(shelf: Shelf, message: InboundMessage, { text, marks }: Said): void {
    const { senderId, senderName, startsThread, targetId, platformId } = message;
    const at = this.#clock.now();
    const id = idOf(message, message.kind === 'reaction' && targetId !== undefined ? targetId : platformId);
    const opens = startsThread ? { opens: laneKey(message) } : {};
    const line = { id, senderId, senderName, text: cut(text), marks, at, ...opens, toldIn: new Set<string>() };
    shelf.add(placeOf(message), line, at - MAX_AGE_MS);
  }

  /** Other words are told again; the same ones came twice. */
  #correct(line: Line | undefined, { text, marks }: Said): void {
    if (!line || line.text === cut(text)) return;
    line.text = cut(text);
    line.marks = marks;
    line.toldIn.clear();
  }
}

/** The newest lines of each place. */
class Shelf {
  readonly #maxLines: number;
  /** In order of the newest line. */
  readonly #places = new Map<string, Line[]>();

  constructor(maxLines: number) {
    this.#maxLines = maxLines;
  }

  lines(place: string): readonly Line[] {
    return this.#places.get(place) ?? [];
  }

  add(place: string, line: Line, since: number): void {
    const lines = [...this.lines(place).filter(({ at }) => at >= since), line];
    let total = lines.reduce((sum, { text }) => sum + text.length, 0);
    while (lines.length > this.#maxLines || total > MAX_TOTAL_CHARS) total -= lines.shift()?.text.length ?? 0;
    this.#places.delete(place);
    this.#places.set(place, lines);
    const [oldest] = this.#places.keys();
    if (this.#places.size > MAX_PLACES && oldest !== undefined) this.#places.delete(oldest);
  }

  /** The line about that message which this one, of the same chat, may change. */
  find(message: InboundMessage, targetId: string | undefined): Line | undefined {
    return this.#search(message, targetId)?.line;
  }

  remove(message: InboundMessage): void {
    const found = this.#search(message, message.targetId);
    if (!found) return;
    const rest = this.lines(found.place).filter((line) => line !== found.line);
    if (rest.length > 0) this.#places.set(found.place, rest);
    else this.#places.delete(found.place);
  }

  /** In all threads of the chat: not every platform tells in which the changed message stood. */
  #search(message: InboundMessage, targetId: string | undefined): { place: string; line: Line } | undefined {
    if (targetId === undefined) return undefined;
    const [id, chat] = [idOf(message, targetId), chatKey(message)];
    for (const [place, lines] of this.#places) {
      if (!isLaneOf(place, chat)) continue;
      const line = lines.find((one) => one.id === id && mayChange(message, one.senderId));
      if (line) return { place, line };
    }
    return undefined;
  }
}

/** A message that starts a thread was said in the chat, where all read it. */
function placeOf(message: InboundMessage): string {
  return message.startsThread ? chatKey(message) : laneKey(message);
}

function idOf({ channel, account }: InboundMessage, platformId: string): string {
  return messageKey({ channel, account, platformId });
}

function cut(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS).toWellFormed()}…` : text;
}
