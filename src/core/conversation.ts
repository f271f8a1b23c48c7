/** What an answer changes in the conversation beside its words, in its own transaction. */
import type { SessionMessage } from './session.ts';

/**
 * A session that begins anew: its newest `keep` messages stay, and no yes that was given for it. Its
 * unfinished runs end in the session that they began in: their lines go to its archive.
 */
export interface Restart {
  /** The session of the chat or thread, and its topic. */
  readonly topic: string;
  readonly keep: number;
}

/** A line of the journal that says where a session begins anew. */
export interface SessionCut {
  readonly session: string;
  readonly line: SessionMessage;
  /** Of a session that is gone: work in the background goes on in its directory. */
  readonly isInUse?: boolean;
}
