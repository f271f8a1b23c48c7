/** Messages that were written while nobody listened: the platform pushes each once and keeps the history. */
import { type JsonObject, obj, objects } from '../kit/json.ts';
import { isFinal, waitOf } from './failure.ts';
import { compareIds, snowflake } from './wire.ts';

export interface HistoryOptions {
  /** Chat or thread. */
  readonly place: string;
  /** Newer than this id, the oldest first. */
  readonly after: string;
  /** Answers a GET; rejects with a `CallError`. */
  readonly get: (route: string, query: Readonly<Record<string, string>>) => Promise<unknown>;
  /** Waits; rejects when the adapter stops. */
  readonly sleep: (ms: number) => Promise<void>;
}

/** The platform's largest page. */
const PAGE = 100;
/** 2000 messages: who writes more to an absent bot does not wait for an answer to each. */
const MAX_PAGES = 20;
/** About a minute: longer and one chat that cannot be read would hold up all the others. */
const ATTEMPTS = 6;

export type HistoryEnd = 'complete' | 'forbidden' | 'cut' | 'failed';

/** Hands over page after page, each sorted; only when `onPage` resolved is the next one fetched. Rejects as `sleep` does. */
export async function readHistory(
  options: HistoryOptions,
  onPage: (messages: readonly JsonObject[]) => Promise<void>,
): Promise<HistoryEnd> {
  let { after } = options;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await fetchPage(options, after);
    if (!Array.isArray(answer)) return answer;
    const messages = objects(answer)
      .filter((message) => snowflake(message['id']) !== undefined)
      .sort((a, b) => compareIds(String(a['id']), String(b['id'])));
    const last = snowflake(obj(messages.at(-1))['id']);
    if (last === undefined) return 'complete';
    await onPage(messages);
    if (answer.length < PAGE) return 'complete';
    // A page that does not lead on would be fetched for ever.
    if (compareIds(last, after) <= 0) return 'failed';
    after = last;
  }
  return 'cut';
}

async function fetchPage(options: HistoryOptions, after: string): Promise<unknown[] | 'forbidden' | 'failed'> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    try {
      const page = await options.get(`/channels/${options.place}/messages`, { after, limit: String(PAGE) });
      return Array.isArray(page) ? page : 'failed';
    } catch (error) {
      if (isFinal(error)) return 'forbidden';
      // Whatever else it was may pass. When the adapter stops, the wait ends with it.
      await options.sleep(waitOf(error) ?? 1_000 * 2 ** attempt);
    }
  }
  return 'failed';
}
