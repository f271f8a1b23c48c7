import type { RunEvent } from '../core/events.ts';
import { COMMITTED_EVENTS, type RecordedEvent, type RecordQuery } from '../core/record.ts';
import type { Store } from './store.ts';
import { readJson } from './store.ts';

interface EventRow {
  readonly seq: number;
  readonly at: number;
  readonly run: string | null;
  readonly session: string | null;
  readonly channel: string | null;
  readonly type: string;
  readonly data: string;
}

/** Pieces of answers, and what the commit of the fact writes itself. */
const PASSED_OVER: ReadonlySet<string> = new Set([...COMMITTED_EVENTS, 'model.text']);
/** Words of other programs: a server's error may quote what was asked. */
const CONTENT = ['detail', 'hint', 'text'] as const;
/** A platform says in so many characters why it refuses. */
const REASON_CHARS = 120;
/** Events that wait for a commit while the disk is full. The oldest are given up. */
const MOST_PENDING = 10_000;

/** In the transaction of the fact that the event speaks of. */
export function writeEvent({ db }: Store, { at, messageId, session, channel, type, ...data }: RunEvent): void {
  db.run(
    'INSERT INTO event (at, run, session, channel, type, data) VALUES (?, ?, ?, ?, ?, ?)',
    ...[at, messageId ?? null, session ?? null, channel ?? null, type, JSON.stringify(withoutContent(data))],
  );
}

function withoutContent(data: object): object {
  const kept: Record<string, unknown> = { ...data };
  for (const field of CONTENT) delete kept[field];
  if (typeof kept['reason'] === 'string') kept['reason'] = kept['reason'].slice(0, REASON_CHARS);
  return kept;
}

export function eventsOf({ db }: Store, run: string): readonly RecordedEvent[] {
  return db.all<EventRow>('SELECT * FROM event WHERE run = ? ORDER BY seq', run).map(toEvent);
}

export function eventsAfter({ db }: Store, seq: number, query: RecordQuery): readonly RecordedEvent[] {
  const { limit, session = null, channel = null, since = 0 } = query;
  const rows = db.all<EventRow>(
    `SELECT * FROM event WHERE seq > ? AND at >= ? AND (? IS NULL OR session = ?) AND (? IS NULL OR channel = ?)
     ORDER BY seq LIMIT ?`,
    ...[seq, since, session, session, channel, channel, limit],
  );
  return rows.map(toEvent);
}

function toEvent({ seq, at, run, session, channel, type, data }: EventRow): RecordedEvent {
  const event = {
    ...(readJson(data, `event ${seq}`) as object),
    ...{ at, type },
    ...(run === null ? {} : { messageId: run }),
    ...(session === null ? {} : { session }),
    ...(channel === null ? {} : { channel }),
  };
  return { seq, event: event as RunEvent };
}

/** Events that ride on the next commit. */
export class PendingEvents {
  #events: RunEvent[] = [];

  /** Whether it is the first that waits: then the caller must see to a commit. */
  add(event: RunEvent): boolean {
    if (PASSED_OVER.has(event.type)) return false;
    if (this.#events.length >= MOST_PENDING) this.#events.shift();
    return this.#events.push(event) === 1;
  }

  get size(): number {
    return this.#events.length;
  }

  /** Writes all; to be called in a transaction. What is returned puts them back, for one that failed. */
  writeTo(store: Store): { giveBack(): void } {
    const taken = this.#events;
    this.#events = [];
    for (const event of taken) writeEvent(store, event);
    return {
      giveBack: () => {
        this.#events = [...taken, ...this.#events].slice(-MOST_PENDING);
      },
    };
  }
}
