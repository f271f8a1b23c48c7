// an entry of another program's jobs.json -> the shape of our own export

/** Keys that other programs write, and ours of the same meaning. Null stands for absent in their files. */
const SCHEDULE = { everyMs: 'every_ms', atMs: 'at_ms', at: 'at_ms' } as const;
const ENTRY = { deleteAfterRun: 'delete_after_run', createdAtMs: 'created_at_ms' } as const;
const STATE = { nextRunAtMs: 'next_run_at_ms', lastRunAtMs: 'last_run_at_ms', lastStatus: 'last_status' } as const;

/**
 * An entry as nanobot and OpenClaw write it, with keys in camel case, the time zone in its schedule, `to` for
 * the chat, and `delivery` beside the payload, in the shape of an export of ours. What is of that shape
 * already, or is no entry, is returned as it is. For `readJobs`, which checks the result.
 */
export function asOurs(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { disabled, delivery, ...entry } = without(value);
  const { tz, timezone: zone, ...schedule } = renamed(recordOf(entry['schedule']), SCHEDULE);
  const timezone = entry['timezone'] ?? zone ?? tz;
  return {
    ...renamed(entry, ENTRY),
    ...(typeof disabled === 'boolean' && entry['enabled'] === undefined ? { enabled: !disabled } : {}),
    ...(timezone === undefined ? {} : { timezone }),
    ...(entry['schedule'] === undefined ? {} : { schedule: withTime(schedule) }),
    ...(entry['payload'] === undefined ? {} : { payload: payloadOf(recordOf(entry['payload']), recordOf(delivery)) }),
    ...(entry['state'] === undefined ? {} : { state: renamed(recordOf(entry['state']), STATE) }),
  };
}

/** The fields of an object that are not null; none of what is no object. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? without(value) : {};
}

function without(value: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
}

function renamed(from: Readonly<Record<string, unknown>>, names: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(from).map(([key, value]) => [names[key] ?? key, value]));
}

/** A time in words has its offset from UTC: without one it is not known which hour is meant. */
function withTime(schedule: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const at = schedule['at_ms'];
  const ms = typeof at === 'string' && /(?:Z|[+-]\d\d:?\d\d)$/i.test(at) ? Date.parse(at) : Number.NaN;
  return Number.isNaN(ms) ? schedule : { ...schedule, at_ms: ms };
}

function payloadOf(
  { text, to, ...payload }: Readonly<Record<string, unknown>>,
  delivery: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const chat = payload['chat_id'] ?? to ?? delivery['to'];
  const channel = payload['channel'] ?? delivery['channel'];
  const isAsked = delivery['mode'] !== 'none' && Object.keys(delivery).length > 0;
  return {
    ...payload,
    ...(payload['message'] === undefined && text !== undefined ? { message: text } : {}),
    ...(chat === undefined ? {} : { chat_id: chat }),
    ...(channel === undefined ? {} : { channel }),
    ...(payload['deliver'] === undefined && isAsked ? { deliver: true } : {}),
  };
}
