/** How a run asks people: see `src/runs/asking.ts`. */
import type { Choice } from './message.ts';
import type { NotWritten, Written } from './messages.ts';
import type { Question, Wanted } from './wait.ts';

/**
 * Whom a run may ask: `requester`, the person it works for; `owner`; or another person, by `channel:id`, by
 * an id on the channel of the run, or by name.
 */
export type Asked = string;

export interface Wondering {
  readonly to: Asked;
  readonly text: string;
  readonly answer: Question['answer'];
  readonly choices: readonly Choice[];
  /** How long the person may take. Absent = seven days. ms. */
  readonly expiresInMs?: number;
  /** What it comes to when no answer comes in time. */
  readonly preset?: string;
}

/** Bound to a run and to the person who asked for it. Rejects as the journal does. */
export interface Asking {
  /** Why the run asks no one at all, as a clause without a full stop. Undefined = it may ask. */
  readonly refusal: string | undefined;
  /** Whether the words stay in the chat of the run, or go to the owner, who may read all of it. */
  isHome(to: Asked): boolean;
  /** As `Messages.find`. `reader`: their principal. */
  find(to: Asked): Promise<Found | NotWritten>;
  /** The wait that asks. Nothing is written before the run parks. */
  question(wondering: Wondering): Promise<{ readonly kind: 'wait'; readonly wait: Wanted } | NotWritten>;
  /** Tells them in place of asking. As `Messages.write`. */
  tell(to: Asked, text: string, key: string, signal: AbortSignal): Promise<Written | NotWritten>;
  /** As `AnswerScope.isReserved`. */
  isReserved(words: string): boolean;
}

export interface Found {
  readonly kind: 'found';
  readonly title: string;
  readonly head: string;
  readonly reader: string;
}
