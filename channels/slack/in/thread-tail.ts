/**
 * The newest replies of a thread. The platform lists the earliest first and has no way back
 * (https://docs.slack.dev/reference/methods/conversations.replies), so a long thread is asked for by time.
 */
import { type JsonObject, list, num, obj, str } from '../../kit/json.ts';

/** The platform recommends no more. */
const PAGE = 200;
/** 50 a minute are allowed, for all threads and people together. */
const MOST_CALLS = 8;
/** A window that held too few is followed by one that is longer by this. */
const WIDER = 4;
/** How much of what is expected at the pace of what was read a guess passes by. */
const PASSED = 0.8;
/** Shortest window. */
const LEAST_S = 1;

export interface ThreadTail {
  /** Absent where it was deleted and the platform lists it no more. */
  readonly first?: JsonObject;
  /** The newest, oldest first, without one in between left out. */
  readonly newest: readonly JsonObject[];
  /** Whether there are replies between `first` and these, or may be. */
  readonly isPartial: boolean;
}

export interface TailOptions {
  readonly channel: string;
  /** Of the first message. */
  readonly ts: string;
  /** Most replies. */
  readonly wanted: number;
  /** Only what is older; absent = up to now. */
  readonly before?: string;
  /** Epoch seconds of the end, where `before` does not tell it. */
  readonly now: number;
  readonly call: (method: string, args: JsonObject) => Promise<JsonObject>;
}

/** Rejects as `call` does. */
export async function threadTail(options: TailOptions): Promise<ThreadTail> {
  const { ts, wanted, before, now } = options;
  const head = await readPage({}, before, options);
  const { first } = head;
  const tail = (replies: readonly JsonObject[], isWhole: boolean): ThreadTail => {
    const newest = wanted > 0 ? replies.slice(-wanted) : [];
    return { ...(first && { first }), newest, isPartial: !isWhole || newest.length < replies.length };
  };
  if (head.isWhole) return tail(head.replies, true);
  // Nothing in (floor, to) was read yet; `below` is what stands directly under the floor.
  let [floor, below] = [timeOf(head.replies.at(-1)) ?? Number(ts), head.replies];
  let [to, latest] = [Number(before ?? now), before];
  let found: readonly JsonObject[] = [];
  let [left, pace] = [(num(first?.['reply_count']) ?? MOST_CALLS * PAGE) - head.replies.length, paceOf(head.replies)];
  let isGuessed = false;
  // The span holds all that is left if a page can, else twice as many as are wanted if they come evenly.
  let span = left < PAGE ? to - floor : ((to - floor) * 2 * wanted) / left;
  for (let calls = 1; calls < MOST_CALLS && found.length < wanted; calls += 1) {
    const from = Math.max(to - Math.max(span, LEAST_S), floor);
    const page = await readPage({ oldest: from.toFixed(6), inclusive: true }, latest, options);
    if (page.isWhole) {
      found = distinct([...page.replies, ...found]);
      if (from === floor) return tail(distinct([...below, ...found]), false);
      // More than a page stands right above the floor, so all the way down is too far.
      span = page.replies.length === 0 ? (from - floor) / 2 : Math.min(span * WIDER, (from - floor) / 2);
      // The thread became quiet: at the earlier pace, the replies that are left end where its last ones are.
      if (page.replies.length === 0 && !isGuessed) span = Math.max(span, from - floor - pace * left * PASSED);
      isGuessed = true;
      [to, latest] = [from, from.toFixed(6)];
    } else {
      const end = timeOf(page.replies.at(-1)) ?? from;
      // What was passed over came at about the same pace.
      left = Math.max(left - (end - floor) / Math.max(pace, Number.EPSILON), wanted);
      [floor, below, pace, isGuessed] = [end, page.replies, paceOf(page.replies), true];
      span = Math.max((to - floor) / 2, to - floor - pace * left * PASSED);
    }
  }
  return tail(found, false);
}

interface Page {
  readonly first?: JsonObject;
  readonly replies: readonly JsonObject[];
  readonly isWhole: boolean;
}

/** The first message comes along with each page, whatever its age. */
async function readPage(
  range: JsonObject,
  latest: string | undefined,
  { channel, ts, before, call }: TailOptions,
): Promise<Page> {
  const until = latest === undefined ? {} : { latest };
  const answer = await call('conversations.replies', { channel, ts, ...range, ...until, limit: PAGE });
  const items = list(answer['messages']).map(obj);
  const first = items.find((item) => item['ts'] === ts);
  const oldest = Number(range['oldest'] ?? 0);
  const replies = items.filter((item) => item['ts'] !== ts && item['ts'] !== before && (timeOf(item) ?? 0) >= oldest);
  const cursor = str(obj(answer['response_metadata'])['next_cursor']) ?? '';
  return { ...(first && { first }), replies: distinct(replies), isWhole: cursor === '' && answer['has_more'] !== true };
}

/** Windows touch, so a reply at their border comes twice. */
function distinct(replies: readonly JsonObject[]): readonly JsonObject[] {
  const byTime = new Map(replies.map((reply) => [reply['ts'], reply]));
  return [...byTime.values()].sort((a, b) => (timeOf(a) ?? 0) - (timeOf(b) ?? 0));
}

/** Seconds between two replies. */
function paceOf(replies: readonly JsonObject[]): number {
  const [from = 0, to = 0] = [timeOf(replies[0]), timeOf(replies.at(-1))];
  return (to - from) / Math.max(replies.length - 1, 1);
}

/** Epoch seconds. */
function timeOf(message: JsonObject | undefined): number | undefined {
  const at = Number(str(message?.['ts']));
  return Number.isFinite(at) ? at : undefined;
}
