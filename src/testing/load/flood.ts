/** The flooder of `npm run load`: what they write, what they get, and what the daemon recorded of it. */
import type { DatabaseSync } from 'node:sqlite';
import { type EventRow, eventsIn } from '../../journal/event-rows.ts';
import { type ChannelRecord, neverExcused } from './judge.ts';
import type { Question } from './traffic.ts';

/**
 * One person in one chat, one person in many chats at once, and one person in ten threads, for each of which
 * the model takes 20 seconds.
 */
export const FLOOD_SHAPES = ['flood-chat', 'flood-sender', 'slow-threads'] as const;
export type FloodShape = (typeof FLOOD_SHAPES)[number];

/** So many that no chat of a sender reaches the share of a lane before the sender reaches theirs. */
const CHATS = 100;
/** People, chats and numbers of a flood begin here, beyond those of every other phase. */
const FIRST = 1_000_000;
const THREADS = 10;
/** Questions of these numbers and above are those that the model is slow at. */
export const SLOW_FROM = FIRST * (1 + FLOOD_SHAPES.indexOf('slow-threads'));

export interface FloodOptions {
  readonly shape: FloodShape;
  readonly channel: string;
  readonly messages: number;
  /** They come at a steady rate in this time. ms. */
  readonly overMs: number;
}

export function planFlood({ shape, channel, messages, overMs }: FloodOptions): readonly Question[] {
  const first = FIRST * (1 + FLOOD_SHAPES.indexOf(shape));
  if (shape === 'slow-threads')
    return Array.from({ length: THREADS }, (_, n) => ({
      channel,
      number: first + n,
      dueMs: 0,
      person: first + 1 + n,
      sender: first,
    }));
  return Array.from({ length: messages }, (_, n) => ({
    ...{ channel, number: first + n, dueMs: (n * overMs) / messages },
    ...(shape === 'flood-chat' ? { person: first } : { person: first + 1 + (n % CHATS), sender: first }),
  }));
}

export interface FloodRecord {
  readonly written: number;
  /** What the flooder saw; `missing` has what was refused, too. */
  readonly record: ChannelRecord;
  /** Messages that the daemon's record names as refused because of a flood. */
  readonly refused: number;
  /** Messages that the daemon took for the notice. */
  readonly noticed: number;
}

/** What the journal of the daemon says of floods on this channel since then, epoch ms. */
export function recordedFlood(database: DatabaseSync, channel: string, since: number): Pick<FloodRecord, 'refused' | 'noticed'> {
  const rows = database.prepare('SELECT * FROM event WHERE channel = ? AND at >= ? ORDER BY seq').all(channel, since);
  const dropped = (rows as unknown as readonly EventRow[]).flatMap(eventsIn).flatMap(({ event }) => {
    return event.type === 'dropped' && event.reason.startsWith('flood:') ? [event.messageId] : [];
  });
  const sql = "SELECT count(*) AS count FROM run WHERE outcome LIKE 'flood:%' AND input ->> '$.channel' = ? AND accepted_at >= ?";
  const noticed = Number(database.prepare(sql).get(channel, since)?.['count'] ?? 0);
  return { refused: new Set(dropped).size, noticed };
}

const NOTICE = 'Too many messages are waiting';

/**
 * Each message is answered, refused on record, or answered with the notice, of which there is one; of slow
 * threads each is answered.
 */
export function wrongFlood({ written, record, refused, noticed }: FloodRecord, shape?: FloodShape): string[] {
  const notices = shape === 'slow-threads' ? 0 : 1;
  const { latenciesMs, strange } = record;
  const answered = latenciesMs.length;
  const told = strange.filter((text) => text.includes(NOTICE)).length;
  return [
    ...(answered + refused + noticed === written
      ? []
      : [`of ${written} messages ${answered} answered, ${refused} refused, ${noticed} answered with the notice`]),
    ...(told === notices && noticed === notices ? [] : [`told ${told} times`]),
    ...(shape === 'slow-threads' && refused > 0 ? [`${refused} refused`] : []),
    ...(strange.length > told ? [`${strange.length - told} unexpected: ${strange.find((text) => !text.includes(NOTICE))}`] : []),
    ...neverExcused(record),
  ];
}
