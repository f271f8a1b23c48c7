import { chatKey, laneKey } from '../core/ids.ts';
import type { BackgroundLine, InboundMessage } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';
import type { RunRow } from '../core/run.ts';
import { lineId, type SaidLine, SaidLines } from '../runs/said-lines.ts';

/** Of one conversation. Counted apart, so that reactions never push out words. */
const MAX_LINES = { words: 30, reactions: 5 };
/** Of one message, in UTF-16 units. */
const MAX_CHARS = 1_000;
const MAX_AGE_MS = 24 * 3_600_000;
/** Messages without an end whose lines may be given back; the oldest goes first. */
const MAX_HELD = 500;

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
  readonly #words = new SaidLines(MAX_LINES.words);
  readonly #reactions = new SaidLines(MAX_LINES.reactions);
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

  /** Of a person who was shut out at this time: what they said before it goes with no message any more. */
  forget(principal: string, at: number): void {
    this.#words.forget(principal, at);
    this.#reactions.forget(principal, at);
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
      lines: lines.map(({ senderId, senderName, text, marks }) => ({ senderId, senderName, text, ...(marks && { marks }) })),
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
  giveBackOf(messageId: string): void {
    this.#held.get(messageId)?.giveBack();
    this.#held.delete(messageId);
  }

  /** In a thread, what it was opened with: that stands in the chat. */
  #openers(message: InboundMessage): readonly SaidLine[] {
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

  #add(shelf: SaidLines, message: InboundMessage, { text, marks }: Said): void {
    const { senderId, senderName, startsThread, targetId, platformId } = message;
    const at = this.#clock.now();
    const id = lineId(message, message.kind === 'reaction' && targetId !== undefined ? targetId : platformId);
    const opens = startsThread ? { opens: laneKey(message) } : {};
    const line = { id, senderId, senderName, text: cut(text), marks, at, ...opens, toldIn: new Set<string>() };
    shelf.add(placeOf(message), line, at - MAX_AGE_MS);
  }

  /** Other words are told again; the same ones came twice. */
  #correct(line: SaidLine | undefined, { text, marks }: Said): void {
    if (!line || line.text === cut(text)) return;
    line.text = cut(text);
    line.marks = marks;
    line.toldIn.clear();
  }
}

/** A message that starts a thread was said in the chat, where all read it. */
function placeOf(message: InboundMessage): string {
  return message.startsThread ? chatKey(message) : laneKey(message);
}

function cut(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS).toWellFormed()}…` : text;
}
