/** The record as the daemon notes events in it and readers ask it. */
import type { EventRecord } from '../core/record.ts';
import { aboutRun, askedRun } from './about-run.ts';
import type { CommitQueue } from './commit-queue.ts';
import { effectsSince } from './effects.ts';
import { eventsAfter, eventsBefore, eventsOf, latestEventAt } from './record.ts';
import type { RecordWriter } from './record-writer.ts';
import type { Store } from './store.ts';

/** Longest wait of an event for a commit to ride on. */
const EVENTS_WAIT_MS = 250;

export function eventRecordOf(store: Store, queue: CommitQueue, writer: RecordWriter): EventRecord {
  let isWaiting = false;
  /** A commit of their own, where none came meanwhile. */
  const writeEvents = (): void => {
    isWaiting = false;
    // A full disk is told by the writes that matter; these wait for the next one.
    if (writer.due()) queue.write(() => undefined).catch(() => undefined);
  };
  return {
    note: (event) => {
      if (!writer.note(event) || isWaiting) return;
      isWaiting = true;
      setTimeout(writeEvents, EVENTS_WAIT_MS).unref();
    },
    of: (run) => queue.read(() => eventsOf(store, run)),
    after: (seq, query) => queue.read(() => eventsAfter(store, seq, query)),
    before: (seq, limit) => queue.read(() => eventsBefore(store, seq, limit)),
    latestAt: () => queue.read(() => latestEventAt(store)),
    about: (words) => queue.read(() => aboutRun(store, words)),
    effects: (since) => queue.read(() => effectsSince(store, since)),
    asked: (what) => queue.peek(() => askedRun(store, what)),
  };
}
