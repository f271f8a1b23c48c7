/**
 * The AI pane: what it suggests when a person opens it (https://docs.slack.dev/ai/developing-agents). What is
 * said there are messages like any other, and each of its threads is a conversation.
 */
import type { Clock, Logger } from '../../../src/core/ports.ts';
import { apiFailureOf } from '../../kit/call-error.ts';
import { withDeadline } from '../../kit/deadline.ts';
import { type JsonObject, obj, str } from '../../kit/json.ts';
import type { SlackSettings } from '../settings.ts';
import type { SlackClient } from '../wire/client.ts';
import { NOT_ALLOWED } from '../wire/failure.ts';
import { isRefusal } from './direct-chats.ts';
import { TS } from './inbound-fields.ts';
import type { SlackPayload } from './payload.ts';

/** The platform wants its acknowledgement within three seconds. */
const SUGGEST_MS = 1_500;

export interface PaneOptions {
  readonly client: Pick<SlackClient, 'call'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly prompts: SlackSettings['suggested_prompts'];
}

interface Place {
  readonly chatId: string;
  readonly threadId?: string;
}

export class Pane {
  readonly #options: PaneOptions;
  /** A thread of the pane was begun: the app has `assistant_view`, and prompts belong to threads. */
  #hasThreads = false;
  #isAllowed = true;

  constructor(options: PaneOptions) {
    this.#options = options;
  }

  /** Where the prompts of the config are to be shown because of this payload; undefined = nowhere. */
  placeOf({ kind, body }: SlackPayload): Place | undefined {
    if (kind !== 'event' || !this.#isAllowed || this.#options.prompts.length === 0) return undefined;
    const event = obj(body['event']);
    if (event['type'] === 'assistant_thread_started') return this.#thread(obj(event['assistant_thread']));
    // An app with `agent_view` is told of nothing else
    // (https://docs.slack.dev/ai/migrating-to-agent-messaging).
    const chatId = str(event['channel']);
    const isOpened = event['type'] === 'app_home_opened' && event['tab'] === 'messages';
    return isOpened && chatId !== undefined && !this.#hasThreads ? { chatId } : undefined;
  }

  /**
   * Shows the prompts; the same ones again change nothing. A refusal for good is logged. Rejects where asking
   * again may help, and with `signal.reason`.
   */
  async suggest({ chatId, threadId }: Place, signal: AbortSignal): Promise<void> {
    const { client, clock, logger, prompts } = this.#options;
    const args: JsonObject = { channel_id: chatId, ...(threadId !== undefined && { thread_ts: threadId }), prompts };
    try {
      await withDeadline({ clock, ms: SUGGEST_MS, signal }, (inner) =>
        client.call('assistant.threads.setSuggestedPrompts', args, inner),
      );
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const failure = apiFailureOf(error);
      if (NOT_ALLOWED.has(failure?.code)) this.#isAllowed = false;
      const hint = 'turn on "Agents & AI Apps" for the app, which adds the scope assistant:write, and install it again';
      logger.warn('slack.prompts-refused', { detail: String(failure?.detail), hint });
    }
  }

  #thread(thread: JsonObject): Place | undefined {
    const [chatId, threadId] = [str(thread['channel_id']), str(thread['thread_ts'])];
    if (chatId === undefined || threadId === undefined || !TS.test(threadId)) return undefined;
    this.#hasThreads = true;
    return { chatId, threadId };
  }
}
