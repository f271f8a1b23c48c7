/**
 * Names for the threads of the AI pane
 * (https://docs.slack.dev/reference/methods/assistant.threads.setTitle).
 */
import { errorText } from '../../../src/core/errors.ts';
import type { OutboundPart } from '../../../src/core/message.ts';
import type { Logger } from '../../../src/core/ports.ts';
import { apiFailureOf } from '../../kit/call-error.ts';
import { type JsonObject, str } from '../../kit/json.ts';
import { RecentSet } from '../../kit/recent.ts';
import { NOT_ALLOWED } from '../wire/failure.ts';

const MAX_KNOWN = 500;

export interface TitlesOptions {
  /** One call with a time limit, which ends with the channel. */
  readonly call: (method: string, args: JsonObject) => Promise<unknown>;
  readonly logger: Logger;
}

/**
 * A thread without a title is shown with the platform's own: nothing is sent again, and no answer waits for
 * it.
 */
export class Titles {
  readonly #options: TitlesOptions;
  readonly #named = new RecentSet(MAX_KNOWN);
  readonly #running = new Set<Promise<void>>();
  #isAllowed = true;

  constructor(options: TitlesOptions) {
    this.#options = options;
  }

  /** An answer was sent: names its thread after the first words of the person, once. */
  answered({ chatId, threadId, replyContext }: OutboundPart): void {
    const title = str(replyContext?.['title']);
    if (title === undefined || threadId === undefined || !this.#isAllowed) return;
    const thread = `${chatId}:${threadId}`;
    if (this.#named.has(thread)) return;
    this.#named.add(thread);
    const naming = this.#name({ channel_id: chatId, thread_ts: threadId, title }).finally(() => this.#running.delete(naming));
    this.#running.add(naming);
  }

  /** Resolves when none is under way. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Never rejects. */
  async #name(args: JsonObject): Promise<void> {
    try {
      await this.#options.call('assistant.threads.setTitle', args);
    } catch (error) {
      if (NOT_ALLOWED.has(apiFailureOf(error)?.code)) this.#isAllowed = false;
      this.#options.logger.info('slack.title-not-set', { error: errorText(error) });
    }
  }
}
