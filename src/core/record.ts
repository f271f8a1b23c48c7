/** What happened, on disk: the events of runs, without a word of their content. Kept for 30 days. */
import type { Role } from './authority.ts';
import type { Effects } from './effects.ts';
import type { Emit, RunEvent } from './events.ts';
import type { Profile, Source } from './new-run.ts';
import type { OutboxState } from './outbox.ts';
import type { RunState } from './run.ts';
import type { WaitKind } from './wait.ts';

export interface RecordedEvent {
  /** Ascending; a later event has a larger one. */
  readonly seq: number;
  readonly event: RunEvent;
}

export interface EventRecord extends Effects {
  /**
   * On disk with the next commit that speaks of the same run, at the latest after 250 ms. Events that a
   * commit writes itself (`COMMITTED_EVENTS`), and pieces of answers, are passed over. Never throws; an event
   * that could not be written is lost.
   */
  readonly note: Emit;
  /** Of one run, by its key, oldest first. */
  of(run: string): Promise<readonly RecordedEvent[]>;
  /** What came after `seq`, oldest first. */
  after(seq: number, options: RecordQuery): Promise<readonly RecordedEvent[]>;
  /** The newest `limit` of what came before `seq`, absent: of all; oldest first. */
  before(seq: number | undefined, limit: number): Promise<readonly RecordedEvent[]>;
  /**
   * The latest time, epoch ms, among the last thousand rows of the record; undefined when nothing is
   * recorded. Where the clock was set back, the newest event has an earlier one.
   */
  latestAt(): Promise<number | undefined>;
  /**
   * Everything that is known of one message or run: by its key, `in-<seq>`, the id of a chat (its newest)
   * alone or as `channel:id`, or `last`. Undefined when nothing is.
   */
  about(words: string): Promise<RunAbout | undefined>;
  /**
   * The key of the message that a person asks about in a chat; undefined when there is none, or none is
   * found.
   */
  asked(what: MessageQuery): Promise<string | undefined>;
}

/** Which message of a chat, or of one lane in it, a person means. */
export type MessageQuery = ({ readonly chat: string } | { readonly lane: string }) &
  (
    | { /** The newest of this person that did not ask why itself. */ readonly principal: string }
    /** What this message of ours answers; only our newest ones are looked through. */
    | { readonly answer: string }
  );

export interface RunAbout {
  /** The message's id, or the key of the run. */
  readonly key: string;
  /** Absent for what was never let in, and for what was purged since. */
  readonly run?: RunSummary;
  readonly events: readonly RecordedEvent[];
  /** The pieces of its answer, in order. */
  readonly parts: readonly PartSummary[];
}

/** A person who was asked and has not answered. */
export interface AskedPerson {
  /** As `Question.who`; for the owner `the owner`. Absent = who is in the chat of the run. */
  readonly who?: string;
  /** Epoch ms. */
  readonly since: number;
}

export interface RunSummary {
  readonly seq: number;
  readonly source: Source['kind'];
  readonly profile: Profile;
  readonly principal: string;
  readonly state: RunState;
  readonly lane: string;
  readonly session: string;
  readonly attempts: number;
  readonly acceptedAt: number;
  readonly finishedAt?: number;
  readonly outcome?: string;
  /** What a parked run waits for, each kind once. */
  readonly waitsFor: readonly WaitKind[];
  /** Whose answers it waits for, the oldest question first. */
  readonly asks: readonly AskedPerson[];
  /** How many rows of its lane are to run, or run, before it. */
  readonly ahead: number;
  readonly role: Role;
  /** Of one that has not begun: how many turns of its person on its channel run. Else 0. */
  readonly turns: number;
}

export interface PartSummary {
  readonly key: string;
  readonly state: OutboxState;
  readonly attempts: number;
  readonly notBefore: number;
  readonly reason?: string;
  /**
   * Of a part that no attempt was made for: what is to be sent before it in its chat, and what failed there.
   */
  readonly behind?: { readonly count: number; readonly reason?: string };
  /** Where nothing is before it: what failed in another chat of its channel, and is tried again. */
  readonly elsewhere?: string;
}

export interface RecordQuery {
  readonly limit: number;
  readonly session?: string;
  readonly channel?: string;
  /** Epoch ms. */
  readonly since?: number;
}

/**
 * Written by the commit that makes them true, so that the record cannot contradict the rest of the journal.
 */
export const COMMITTED_EVENTS = [
  'received',
  'admitted',
  'dropped',
  'finished',
  'parked',
  'settled',
  'job',
  'part.sent',
  'part.retry',
  'part.unknown',
  'part.dead',
  'part.expired',
] as const;
