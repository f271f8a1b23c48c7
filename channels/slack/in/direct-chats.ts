/** The direct conversation of the app with a person: payloads that name a person do not name it. */
import type { Clock, Logger } from '../../../src/core/ports.ts';
import { apiFailureOf, CallError } from '../../kit/call-error.ts';
import { withDeadline } from '../../kit/deadline.ts';
import { type JsonObject, obj, str } from '../../kit/json.ts';
import { RecentMap } from '../../kit/recent.ts';
import type { SlackClient } from '../wire/client.ts';
import { LATER, LOGIN_REFUSED, MAYBE_DONE } from '../wire/failure.ts';

/**
 * The platform wants its acknowledgement within three seconds, and repeats no shortcut: what fails in passing
 * is asked again within them.
 */
const OPEN_MS = 2_000;
const ATTEMPT_MS = 800;
const PAUSE_MS = 150;
const MAX_KNOWN = 1_000;

export interface DirectChatsOptions {
  readonly client: Pick<SlackClient, 'call'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Asks with `conversations.open` and one user, which needs the scope `im:write`, opens nothing twice and
 * shows the person nothing (https://docs.slack.dev/reference/methods/conversations.open).
 */
export class DirectChats {
  readonly #options: DirectChatsOptions;
  readonly #known = new RecentMap<string>(MAX_KNOWN);
  /** The refusal that was logged last: who presses a shortcut again and again fills no log. */
  #told: string | undefined;

  constructor(options: DirectChatsOptions) {
    this.#options = options;
  }

  /**
   * The id of the conversation; undefined where the platform refuses to open it, which is logged once
   * with the fix. Rejects after `ms` where a later attempt may help, and with `signal.reason`.
   */
  async idOf(user: string, signal: AbortSignal, ms = OPEN_MS): Promise<string | undefined> {
    const known = this.#known.get(user);
    if (known !== undefined) return known;
    const { clock, logger } = this.#options;
    try {
      const answer = await withDeadline({ clock, ms, signal }, (inner) => this.#open(user, inner));
      const id = str(obj(answer['channel'])['id']);
      if (id !== undefined) this.#known.set(user, id);
      this.#told = undefined;
      return id;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const hint = 'give the app the scope im:write and install it again';
      const detail = String(apiFailureOf(error)?.detail);
      if (this.#told !== detail) logger.warn('slack.direct-chat-refused', { user, detail, hint });
      this.#told = detail;
      return undefined;
    }
  }

  /** Asks until there is an answer. Rejects where none would be another one, and with `signal.reason`. */
  async #open(user: string, signal: AbortSignal): Promise<JsonObject> {
    const { client, clock } = this.#options;
    for (;;) {
      try {
        const call = (inner: AbortSignal) => client.call('conversations.open', { users: user }, inner);
        return await withDeadline({ clock, ms: ATTEMPT_MS, signal }, call);
      } catch (error) {
        if (signal.aborted || isRefusal(error) || LOGIN_REFUSED.has(apiFailureOf(error)?.code)) throw error;
        const failure = error instanceof CallError ? error.failure : undefined;
        await clock.sleep(failure?.kind === 'limited' ? failure.retryAfterMs : PAUSE_MS, signal);
      }
    }
  }
}

/** The platform said no, and would again. */
export function isRefusal(error: unknown): boolean {
  const failure = apiFailureOf(error);
  return failure !== undefined && ![LATER, MAYBE_DONE, LOGIN_REFUSED].some((words) => words.has(failure.code));
}
