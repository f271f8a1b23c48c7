/**
 * How events lie in rows of the table `event`: one as it is, several of one run and one commit together in a
 * row of type `batch`, and refusals of a flood many in a row (see `refusal-rows.ts`).
 */
import type { RunEvent } from '../core/events.ts';
import type { RecordedEvent } from '../core/record.ts';
import { chatOf, keyOf, type Named, REFUSED } from './refusal-rows.ts';
import { readJson } from './store.ts';

export interface EventRow {
  readonly seq: number;
  readonly at: number;
  readonly run: string | null;
  readonly session: string | null;
  readonly channel: string | null;
  readonly type: string;
  readonly data: string;
}

export type NewEventRow = Omit<EventRow, 'seq'>;

/** Type, ms since the first of the row, and the facts that are no column. */
type Packed = readonly [type: string, after: number, facts?: object];

const BATCH = 'batch';
/** The seq of an event tells its row and its place there. */
const PLACES = 1_024;
/** What is a column, and words of other programs: a server's error may quote what was asked. */
const LEFT_OUT: ReadonlySet<string> = new Set(['at', 'messageId', 'session', 'channel', 'type', 'detail', 'hint', 'text']);
const TIMES: ReadonlySet<string> = new Set(['ms', 'waitedMs', 'waitMs']);
/** A platform says in so many characters why it refuses. */
const REASON_CHARS = 120;

/** Of one run, or each of none, oldest first. */
export function toRows(events: readonly RunEvent[]): readonly NewEventRow[] {
  const rows: NewEventRow[] = [];
  for (let from = 0; from < events.length; from += PLACES) rows.push(toRow(events.slice(from, from + PLACES)));
  return rows;
}

function toRow(events: readonly RunEvent[]): NewEventRow {
  const at = events[0]?.at ?? 0;
  const columns = {
    ...{ at, run: events[0]?.messageId ?? null },
    session: events.find(({ session }) => session !== undefined)?.session ?? null,
    channel: events.find(({ channel }) => channel !== undefined)?.channel ?? null,
  };
  const [first, ...more] = events.map((event) => packed(event, at));
  if (first && more.length === 0) return { ...columns, type: first[0], data: JSON.stringify(first[2] ?? {}) };
  return { ...columns, type: BATCH, data: JSON.stringify([first, ...more]) };
}

function packed(event: RunEvent, from: number): Packed {
  const { at, type } = event;
  let kept: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(event)) {
    if (LEFT_OUT.has(name)) continue;
    kept ??= {};
    kept[name] = shortened(name, value);
  }
  return kept ? [type, at - from, kept] : [type, at - from];
}

function shortened(name: string, value: unknown): unknown {
  if (typeof value === 'number' && TIMES.has(name)) return Math.round(value);
  return typeof value === 'string' && name === 'reason' ? value.slice(0, REASON_CHARS) : value;
}

/** The events of a row, oldest first. */
export function eventsIn(row: EventRow): readonly RecordedEvent[] {
  const { seq, type, data } = row;
  const facts: unknown = readJson(data, `event ${seq}`);
  const events = type === REFUSED ? refusals(row, facts as readonly Named[]) : unpacked(row, facts);
  return events.map((event, place) => ({ seq: seq * PLACES + place, event }));
}

function unpacked({ at, run, session, channel, type }: EventRow, facts: unknown): readonly RunEvent[] {
  const columns = {
    ...(run === null ? {} : { messageId: run }),
    ...(session === null ? {} : { session }),
    ...(channel === null ? {} : { channel }),
  };
  const all = (type === BATCH ? facts : [[type, 0, facts]]) as readonly Packed[];
  return all.map(([kind, after, more]) => ({ ...more, ...columns, at: at + after, type: kind }) as RunEvent);
}

function refusals({ at, run, channel }: EventRow, names: readonly Named[]): readonly RunEvent[] {
  return names.flatMap((name) => {
    const base = { at, messageId: keyOf(run ?? '', name), ...(channel === null ? {} : { channel }) };
    return [
      { ...base, type: 'received' } as const,
      { ...base, type: 'dropped', reason: name[1], ...(run === null ? {} : { chat: chatOf(run) }) } as const,
    ];
  });
}

/** Later events than the one of this seq lie in this row or after it. */
export function rowOf(seq: number): number {
  return Math.floor(seq / PLACES);
}
