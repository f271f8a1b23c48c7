/** The record as the journal's operations see it: what they write to it, and what is read. */
import type { RunEvent } from '../core/events.ts';
import type { RecordedEvent, RecordQuery } from '../core/record.ts';
import { LIMIT } from './database.ts';
import { type EventRow, eventsIn, rowOf } from './event-rows.ts';
import { nameIn, rangeNaming } from './refusal-rows.ts';
import type { Store } from './store.ts';

/** In the transaction of the fact that the event speaks of. */
export function writeEvent({ record }: Store, event: RunEvent): void {
  record.write(event);
}

export function eventsOf({ db }: Store, run: string): readonly RecordedEvent[] {
  const rows = db.all<EventRow>('SELECT * FROM event WHERE run = ? ORDER BY seq', run);
  if (rows.length > 0) return rows.flatMap(eventsIn);
  return rowsNaming(db, run)
    .flatMap(eventsIn)
    .filter(({ event }) => event.messageId === run);
}

/** Of a message that was refused in a flood. */
function rowsNaming(db: Store['db'], run: string): readonly EventRow[] {
  const sql = 'SELECT * FROM event WHERE run >= ? AND run < ? AND instr(data, ?) > 0 ORDER BY seq';
  return db.all<EventRow>(sql, ...rangeNaming(run), nameIn(run));
}

export function eventsAfter({ db }: Store, seq: number, query: RecordQuery): readonly RecordedEvent[] {
  const { limit, session = null, channel = null, since = 0 } = query;
  const rows = db.all<EventRow>(
    `SELECT * FROM event WHERE seq >= ? AND at >= ? AND (? IS NULL OR session = ?) AND (? IS NULL OR channel = ?)
     ORDER BY seq ${LIMIT}`,
    ...[rowOf(seq), since, session, session, channel, channel, limit + 1],
  );
  return rows
    .flatMap(eventsIn)
    .filter((entry) => entry.seq > seq)
    .slice(0, limit);
}

/** A row holds one event or more, so `limit` rows are enough, and one more for that of `before`. */
export function eventsBefore({ db }: Store, before: number | undefined, limit: number): readonly RecordedEvent[] {
  const seq = before ?? Number.MAX_SAFE_INTEGER;
  const rows = db.all<EventRow>(`SELECT * FROM event WHERE seq <= ? ORDER BY seq DESC ${LIMIT}`, rowOf(seq), limit + 1);
  return rows
    .toReversed()
    .flatMap(eventsIn)
    .filter((entry) => entry.seq < seq)
    .slice(-limit);
}

/** Not of all rows: a clock that was years ahead for once would be told of for ever. */
export const LATEST_EVENT_AT = 'SELECT max(at) AS at FROM (SELECT at FROM event ORDER BY seq DESC LIMIT 1000)';

/** A row counts as its first event. */
export function latestEventAt({ db }: Store): number | undefined {
  return db.get<{ at: number | null }>(LATEST_EVENT_AT)?.at ?? undefined;
}
