import type { WebhookHandler, WebhookRequest } from '../../../src/core/channel.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import type { Clock, Logger } from '../../../src/core/ports.ts';
import { answerWith, createWebhookIntake, refusedRequest, type WebhookContent } from '../../kit/webhook-intake.ts';
import { type InboundContext, toInbound } from './inbound.ts';
import { type CallbackKeys, encryptedOf, openCallback } from './request.ts';

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

/**
 * Answers the platform's requests: the echo that proves the address is ours, and messages once they are
 * durable.
 */
export function createWebhookHandler(options: WebhookOptions): WebhookHandler {
  const { clock, logger } = options;
  return createWebhookIntake({
    read: (request) => read(request, options),
    holdMs: HOLD_MS,
    refused: { status: 403, event: 'wecom.callback-refused' },
    retryAfterSecs: 1,
    clock,
    logger,
  });
}

function read({ method, query, body }: WebhookRequest, { keys, context, take, clock, logger }: WebhookOptions): WebhookContent {
  const now = clock.now();
  const encrypted = method === 'GET' ? (query.get('echostr') ?? undefined) : encryptedOf(body);
  const opened = openCallback({ query, encrypted }, keys, now);
  if ('reason' in opened) return refusedRequest(opened.reason);
  if (method === 'GET') return answerWith(200, opened.plaintext.toString('utf8'));
  const decoded = toInbound(opened.plaintext, { ...context, now });
  if (decoded.kind === 'foreign') {
    return refusedRequest('it is for another company or application: check the id and agent_id');
  }
  if (decoded.kind === 'notice') {
    logger.debug('wecom.notice', { event: decoded.event });
    // An empty 200 tells the platform that nothing is to be sent back with the answer to this request.
    return answerWith(200);
  }
  const taken = take(decoded.message);
  return taken ? { kind: 'messages', store: () => taken } : { kind: 'later' };
}
