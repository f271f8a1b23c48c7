// an entry of another program's jobs.json -> the shape of our own export
import { instantOf } from '../lib/wall-time.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Keys that other programs write, and ours of the same meaning. Null stands for absent in their files. */
const SCHEDULE = { everyMs: 'every_ms', atMs: 'at_ms', at: 'at_ms' } as const;
const ENTRY = { deleteAfterRun: 'delete_after_run', createdAtMs: 'created_at_ms' } as const;
const STATE = { nextRunAtMs: 'next_run_at_ms', lastRunAtMs: 'last_run_at_ms', lastStatus: 'last_status' } as const;
/** Of `delivery`, with a counterpart here. */
const DELIVERY = ['channel', 'to', 'threadId'];
/** To a chat, or to none; others call an address. */
const MODES: readonly unknown[] = [undefined, 'none', 'announce'];
const KNOWN =
  'id name enabled schedule payload state created_at_ms delete_after_run timezone run_count missed authority taint anchor_ms updatedAtMs';

/** `left`: keys of it that mean nothing here, as a person finds them in the file. */
export interface UsualEntry {
  readonly entry: unknown;
  readonly left: readonly string[];
}

/**
 * An entry as nanobot and OpenClaw write it, with keys in camel case, the time zone in its schedule, `to` for
 * the chat, and `delivery` beside the payload, in the shape of an export of ours. What is of that shape
 * already, or is no entry, is returned as it is. `now`: epoch ms. For `readJobs`, which checks the result.
 */
export function asOurs(value: unknown, now: number): UsualEntry {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { entry: value, left: [] };
  const { disabled, delivery: told, ...entry } = without(value);
  const { tz, timezone: zone, anchorMs, staggerMs, ...schedule } = renamed(recordOf(entry['schedule']), SCHEDULE);
  const timezone = entry['timezone'] ?? zone ?? tz;
  const delivery = recordOf(told);
  const isToChat = MODES.includes(delivery['mode']);
  const usual = {
    ...renamed(entry, ENTRY),
    ...(disabled === true ? { enabled: false } : {}),
    ...(timezone === undefined ? {} : { timezone }),
    ...(anchorMs === undefined ? {} : { anchor_ms: anchorMs }),
    ...(entry['schedule'] === undefined ? {} : { schedule: withTime(schedule, timezone) }),
    ...(entry['payload'] === undefined ? {} : { payload: payloadOf(recordOf(entry['payload']), isToChat ? delivery : {}) }),
    ...(entry['state'] === undefined ? {} : { state: stateOf(recordOf(entry['state']), now) }),
  };
  const left = [
    ...Object.keys(usual).filter((key) => !KNOWN.split(' ').includes(key)),
    ...(staggerMs === undefined ? [] : ['schedule.staggerMs']),
    ...Object.keys(delivery).flatMap((key) =>
      isToChat && (key === 'mode' || DELIVERY.includes(key)) ? [] : [`delivery.${key}`],
    ),
  ];
  return { entry: usual, left };
}

/** The fields of an object that are not null; none of what is no object. */
export function recordOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? without(value) : {};
}

function without(value: object): Fields {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
}

function renamed(from: Fields, names: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(from).map(([key, value]) => [names[key] ?? key, value]));
}

/** A time in words has its offset from UTC, or a time zone beside it: else it could be any hour. */
function withTime(schedule: Fields, timezone: unknown): Fields {
  const at = schedule['at_ms'];
  if (typeof at !== 'string') return schedule;
  const isPlaced = typeof timezone === 'string' || /(?:Z|[+-]\d\d:?\d\d)$/i.test(at);
  const ms = isPlaced ? instantIn(at, typeof timezone === 'string' ? timezone : 'UTC') : undefined;
  return ms === undefined ? schedule : { ...schedule, at_ms: ms };
}

/** Undefined also where there is no such time zone, which is told where the job is made. */
function instantIn(at: string, timezone: string): number | undefined {
  try {
    return instantOf(at, timezone);
  } catch {
    return undefined;
  }
}

/** When another program was due next, and did not run, is no time for this one: it would run at once. */
function stateOf(theirs: Fields, now: number): Fields {
  const state = renamed(theirs, STATE);
  const next = theirs['nextRunAtMs'];
  if (typeof next !== 'number' || next >= now) return state;
  const { next_run_at_ms: _over, ...rest } = state;
  return rest;
}

function payloadOf({ text, to, ...payload }: Fields, delivery: Fields): Fields {
  const chat = payload['chat_id'] ?? to ?? delivery['to'];
  const channel = payload['channel'] ?? delivery['channel'];
  const thread = payload['thread_id'] ?? delivery['threadId'];
  const isAsked = delivery['mode'] !== 'none' && Object.keys(delivery).length > 0;
  return {
    ...payload,
    ...(payload['message'] === undefined && text !== undefined ? { message: text } : {}),
    ...(chat === undefined ? {} : { chat_id: idOf(chat) }),
    ...(channel === undefined ? {} : { channel }),
    ...(thread === undefined ? {} : { thread_id: idOf(thread) }),
    ...(payload['deliver'] === undefined && isAsked ? { deliver: true } : {}),
  };
}

/** Ids that are whole numbers at the platform are written as such. */
function idOf(value: unknown): unknown {
  return Number.isSafeInteger(value) ? String(value) : value;
}
