/** How far the list of messages is read; the host keeps it in the same transaction as the messages. Pure. */
import { list, obj, parseObject } from '../../kit/json.ts';

export interface ListCursor {
  /** Platform's clock, epoch ms: everything that was visible in the list then is handled. */
  readonly at: number;
  /** Platform's clock at the first start: older messages are never answered. */
  readonly floor: number;
}

/**
 * So much is looked at again each time: a message may become visible in the list later than its date says,
 * and the cursor has no finer grain than a second. What was handled before is recognised by its SID.
 */
export const OVERLAP_MS = 15 * 60_000;

export function firstCursor(serverTime: number): ListCursor {
  // Dates in the list are whole seconds: one of this very second must not be taken for older.
  const second = Math.floor(serverTime / 1_000) * 1_000;
  return { at: second, floor: second };
}

/** Messages from here on, the overlap included, are looked at. */
export function since({ at, floor }: ListCursor): number {
  return Math.max(floor, at - OVERLAP_MS);
}

/** Never goes back: clocks may. */
export function advance(cursor: ListCursor, at: number): ListCursor {
  return { ...cursor, at: Math.max(cursor.at, at) };
}

/** `answered`: SIDs of late of messages that the platform says it answered, which the list does not tell. */
export function formatCursor(cursor: ListCursor, answered: readonly string[]): string {
  return JSON.stringify({ ...cursor, ...(answered.length > 0 && { answered }) });
}

export function answeredIn(text: string | undefined): readonly string[] {
  return list(obj(parseObject(text))['answered']).filter((sid) => typeof sid === 'string');
}

/** Undefined for anything that is not a cursor of ours. */
export function parseCursor(text: string): ListCursor | undefined {
  const { at, floor } = obj(parseObject(text));
  return Number.isSafeInteger(at) && Number.isSafeInteger(floor) ? { at: at as number, floor: floor as number } : undefined;
}
