/**
 * "Is typing…", which the platform shows in threads alone
 * (https://docs.slack.dev/reference/methods/assistant.threads.setStatus).
 */
import { draftKey } from '../../../src/core/ids.ts';
import type { OutboundPart } from '../../../src/core/message.ts';
import { apiFailureOf } from '../../kit/call-error.ts';
import type { JsonObject } from '../../kit/json.ts';
import { RecentMap } from '../../kit/recent.ts';
import { NOT_ALLOWED } from '../wire/failure.ts';

const MAX_KNOWN = 500;

type Place = Pick<OutboundPart, 'chatId' | 'threadId'>;

export interface StatusOptions {
  /** One call with a time limit, which ends with the channel. */
  readonly call: (args: JsonObject, signal?: AbortSignal) => Promise<unknown>;
}

export class Status {
  readonly #options: StatusOptions;
  /** Threads in which it may be shown. */
  readonly #shown = new RecentMap<true>(MAX_KNOWN);
  readonly #running = new Set<Promise<void>>();
  #isAllowed = true;

  constructor(options: StatusOptions) {
    this.#options = options;
  }

  /** Rejects as the call does. */
  async show(place: Place, signal: AbortSignal): Promise<void> {
    if (place.threadId === undefined || !this.#isAllowed) return;
    this.#shown.set(threadOf(place), true);
    try {
      await this.#set(place, 'is typing…', signal);
    } catch (error) {
      if (NOT_ALLOWED.has(apiFailureOf(error)?.code)) this.#isAllowed = false;
      throw error;
    }
  }

  /** A message of ours was changed: what only makes a draft grow ends nothing. */
  edited(part: OutboundPart): void {
    if (!part.key.endsWith(draftKey(''))) this.end(part);
  }

  /**
   * Takes it away where it may be shown. The platform does so where we post, and not where we edit
   * (https://github.com/getsentry/junior/pull/31). No answer waits for this, and should it fail, the
   * platform takes the status away after two minutes.
   */
  end(place: Place): void {
    const thread = threadOf(place);
    if (!this.#shown.has(thread)) return;
    this.#shown.delete(thread);
    const ending = this.#set(place, '')
      .catch(() => undefined)
      .then(() => void this.#running.delete(ending));
    this.#running.add(ending);
  }

  /** Resolves when no end is under way. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #set({ chatId, threadId }: Place, status: string, signal?: AbortSignal): Promise<void> {
    await this.#options.call({ channel_id: chatId, thread_ts: threadId, status }, signal);
  }
}

function threadOf({ chatId, threadId }: Place): string {
  return `${chatId}:${threadId}`;
}
