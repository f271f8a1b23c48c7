/** Messages that were written while nobody listened: the platform pushes each once and keeps the history. */
import { apiFailureOf, type ErrorCode } from '../../kit/call-error.ts';
import { type JsonObject, obj, objects } from '../../kit/json.ts';
import { isFinal, waitOf } from '../wire/failure.ts';
import { compareIds, snowflake } from '../wire/ids.ts';

export interface HistoryOptions {
  /** Chat or thread. */
  readonly place: string;
  /** Newer than this id, the oldest first. */
  readonly after: string;
  /** How often one page is asked for. */
  readonly attempts: number;
  /** Answers a GET; rejects with a `CallError`. */
  readonly get: (route: string, query: Readonly<Record<string, string>>) => Promise<unknown>;
  /** Waits; rejects when the adapter stops. */
  readonly sleep: (ms: number) => Promise<void>;
}

/** The platform's largest page. */
const PAGE = 100;
/** Messages of one chat: who writes more to an absent bot does not wait for an answer to each. */
export const MAX_HISTORY = 2_000;
const MAX_PAGES = MAX_HISTORY / PAGE;

/**
 * `nothing`: there is not one message, which is also the platform's answer to a bot that lacks the permission
 * Read Message History. `hidden`: the room is not shown to the bot. `gone`: there is no such room any more.
 * `cut`: there is more than is ever read. `failed`: it was not possible now.
 */
export type HistoryEnd = 'complete' | 'nothing' | 'forbidden' | 'hidden' | 'gone' | 'cut' | 'failed';

/** Unknown channel, no access: https://discord.com/developers/docs/topics/opcodes-and-status-codes#json */
const ENDS: ReadonlyMap<ErrorCode | undefined, 'gone' | 'hidden'> = new Map([
  [10_003, 'gone'],
  [50_001, 'hidden'],
]);

/**
 * Hands over page after page, each sorted. The next one is fetched only once `onPage` resolved; false says
 * that the page could not be taken now. Rejects as `sleep` and `onPage` do.
 */
export async function readHistory(
  options: HistoryOptions,
  onPage: (messages: readonly JsonObject[]) => Promise<boolean>,
): Promise<HistoryEnd> {
  let { after } = options;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await fetchPage(options, after);
    if (!Array.isArray(answer)) return answer;
    const messages = objects(answer)
      .filter((message) => snowflake(message['id']) !== undefined)
      .sort((a, b) => compareIds(String(a['id']), String(b['id'])));
    const last = snowflake(obj(messages.at(-1))['id']);
    if (last === undefined) return page === 0 ? 'nothing' : 'complete';
    if (!(await onPage(messages))) return 'failed';
    if (answer.length < PAGE) return 'complete';
    // A page that does not lead on would be fetched for ever.
    if (compareIds(last, after) <= 0) return 'failed';
    after = last;
  }
  return 'cut';
}

async function fetchPage(options: HistoryOptions, after: string): Promise<unknown[] | HistoryEnd> {
  const { get, place, attempts, sleep } = options;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const page = await get(`/channels/${place}/messages`, { after, limit: String(PAGE) });
      return Array.isArray(page) ? page : 'failed';
    } catch (error) {
      if (isFinal(error)) return ENDS.get(apiFailureOf(error)?.code) ?? 'forbidden';
      if (attempt >= attempts) return 'failed';
      // Whatever else it was may pass. When the adapter stops, the wait ends with it.
      await sleep(waitOf(error) ?? 500 * 2 ** attempt);
    }
  }
}
