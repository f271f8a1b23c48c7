import type { WebhookAnswer, WebhookRequest } from '../../src/core/channel.ts';
import type { InboundMessage } from '../../src/core/message.ts';
import type { Clock, Logger } from '../../src/core/ports.ts';
import { withDeadline } from '../kit/deadline.ts';
import { RefusedRequests } from '../kit/refused-requests.ts';
import { type CallbackKeys, encryptedOf, openCallback } from './callback.ts';
import { type InboundContext, toInbound } from './inbound.ts';

export interface WebhookOptions {
  readonly keys: CallbackKeys;
  readonly context: Omit<InboundContext, 'now'>;
  /** Resolves when the message is durable; undefined = no room now. */
  readonly take: (message: InboundMessage) => Promise<void> | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Callbacks are a few kilobytes: a text has at most 2048 bytes. */
export const MAX_BODY_BYTES = 65_536;
/** The platform hangs up after 5 s and repeats; a proxy in between may not tell us. */
const HOLD_MS = 10_000;

/** An empty 200 tells the platform that nothing is to be sent back with the answer to this request. */
const DONE: WebhookAnswer = { status: 200 };
const DENIED: WebhookAnswer = { status: 403 };
const BUSY: WebhookAnswer = { status: 503, headers: { 'retry-after': '1' } };

/** Answers the platform's requests: the echo that proves the address is ours, and messages once they are durable. */
export class Webhook {
  readonly #options: WebhookOptions;
  readonly #refused: RefusedRequests;

  constructor(options: WebhookOptions) {
    this.#options = options;
    this.#refused = new RefusedRequests({ event: 'wecom.callback-refused', ...options });
  }

  async handle(request: WebhookRequest, signal: AbortSignal): Promise<WebhookAnswer> {
    const { keys, clock } = this.#options;
    const encrypted = request.method === 'GET' ? (request.query.get('echostr') ?? undefined) : encryptedOf(request.body);
    const opened = openCallback({ query: request.query, encrypted }, keys, clock.now());
    if ('reason' in opened) return this.#refuse(opened.reason);
    return request.method === 'GET'
      ? { status: 200, body: opened.plaintext.toString('utf8') }
      : await this.#accept(opened.plaintext, signal);
  }

  async #accept(plaintext: Buffer, signal: AbortSignal): Promise<WebhookAnswer> {
    const { context, take, clock, logger } = this.#options;
    const decoded = toInbound(plaintext, { ...context, now: clock.now() });
    if (decoded.kind === 'foreign') return this.#refuse('it is for another company or application: check the id and agent_id');
    if (decoded.kind === 'notice') {
      logger.debug('wecom.notice', { event: decoded.event });
      return DONE;
    }
    const taken = take(decoded.message);
    if (!taken) return BUSY;
    try {
      await withDeadline({ clock, ms: HOLD_MS, signal }, () => taken);
      return DONE;
    } catch {
      return BUSY; // the caller hung up, or the channel stops: what was not accepted is not acknowledged
    }
  }

  #refuse(reason: string): WebhookAnswer {
    this.#refused.note(reason);
    return DENIED;
  }
}
