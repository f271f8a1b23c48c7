/** What a draft is given: what it may show, and what all drafts share. */
import type { Channel } from '../core/channel.ts';
import type { StatusSettings } from '../core/chats.ts';
import type { AnswerTarget } from '../core/message.ts';
import type { Outbox } from '../core/outbox.ts';
import type { Clock } from '../core/ports.ts';
import type { Budget } from './budget.ts';
import type { Pace } from './pace.ts';

/** What a draft shows before its answer is there: one of them at least. */
export interface Shows {
  /** The words of the model as it writes them. */
  readonly words: boolean;
  /** What goes on, while it writes none. */
  readonly status: boolean;
  /** How the chat wants it. Absent = as built in. */
  readonly line?: StatusSettings;
}

/** A draft that shows nothing more. */
export interface EndedDraft {
  readonly key: string;
  /** Resolves when nothing of it runs any more. */
  done(): Promise<void>;
}

export interface DraftContext {
  readonly journal: Pick<Outbox, 'enqueue' | 'part'>;
  /** The channel when it can send now. */
  readonly channel: (target: AnswerTarget) => Channel | undefined;
  readonly budget: Budget;
  readonly pace: Pace;
  readonly clock: Clock;
  /** Ends the wire call that is under way. */
  readonly kill: AbortSignal;
  /** The lane has a new part. */
  readonly poke: (lane: string) => void;
  /** Owns a wire call on the draft's message; the next edit of that message waits for it. */
  readonly editing: (key: string, call: Promise<unknown>) => void;
  /** The draft shows nothing more. */
  readonly ended: (draft: EndedDraft) => void;
}
