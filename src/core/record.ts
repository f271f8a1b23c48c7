/** What happened, on disk: the events of runs, without a word of their content. Kept for 30 days. */
import type { Emit, RunEvent } from './events.ts';

export interface RecordedEvent {
  /** Ascending; a later event has a larger one. */
  readonly seq: number;
  readonly event: RunEvent;
}

export interface EventRecord {
  /**
   * On disk with the next commit, at the latest after 250 ms. Events that a commit speaks of itself (`COMMITTED_EVENTS`),
   * and pieces of answers, are passed over. Never throws; an event that could not be written is lost.
   */
  readonly note: Emit;
  /** Of one run, by its key, oldest first. */
  of(run: string): Promise<readonly RecordedEvent[]>;
  /** What came after `seq`, oldest first. */
  after(seq: number, options: RecordQuery): Promise<readonly RecordedEvent[]>;
}

export interface RecordQuery {
  readonly limit: number;
  readonly session?: string;
  readonly channel?: string;
  /** Epoch ms. */
  readonly since?: number;
}

/** Written by the commit that makes them true, so that the record cannot contradict the rest of the journal. */
export const COMMITTED_EVENTS = [
  'received',
  'admitted',
  'dropped',
  'finished',
  'part.sent',
  'part.retry',
  'part.unknown',
  'part.dead',
  'part.expired',
] as const;
