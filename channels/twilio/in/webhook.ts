/**
 * What Twilio posts -> an answer. The order matters: signature, then account, then what it is, and 200 only
 * after the commit.
 */
import type { WebhookAnswer, WebhookHandler, WebhookRequest } from '../../../src/core/channel.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import type { Clock, Logger } from '../../../src/core/ports.ts';
import { answerWith, createWebhookIntake, refusedRequest, type WebhookContent } from '../../kit/webhook-intake.ts';
import type { PublicFiles } from '../out/public-files.ts';
import { isStatus } from '../out/status.ts';
import type { Intake } from './intake.ts';
import { type Fields, type Proof, verify } from './request.ts';

export interface WebhookOptions {
  readonly proof: Proof;
  readonly accountSid: string;
  readonly number: string;
  readonly intake: Pick<Intake, 'push'>;
  readonly files: Pick<PublicFiles, 'serve'>;
  /** `later`: there is no room for it in this minute, and the list will bring it. */
  readonly toInbound: (fields: Fields) => InboundMessage | 'later' | undefined;
  /** `part`: the name of the part, from the address the callback came to. */
  readonly onStatus: (fields: Fields, part: string | undefined) => void;
  /** A message came by webhook: the way is open. */
  readonly onMessage: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Twilio gives up after 15 s and takes the webhook for failed; the message then comes with the list. */
const ANSWER_WITHIN_MS = 10_000;
/** An empty answer: what the agent has to say is sent by the API, whenever it is ready. */
const NOTHING_TO_SAY: WebhookAnswer = {
  status: 200,
  headers: { 'content-type': 'text/xml; charset=utf-8' },
  body: '<?xml version="1.0" encoding="UTF-8"?><Response/>',
};

/** A text message is a few kB with all its fields. */
export const MAX_WEBHOOK_BYTES = 64 * 1024;

export function createWebhookHandler(options: WebhookOptions): WebhookHandler {
  const { clock, logger, proof } = options;
  return createWebhookIntake({
    read: (request) => read(request, options),
    holdMs: ANSWER_WITHIN_MS,
    stored: NOTHING_TO_SAY,
    refused: { status: 403, event: 'twilio.webhook-refused', data: { signedOver: proof.publicUrl } },
    clock,
    logger,
  });
}

function read(request: WebhookRequest, options: WebhookOptions): WebhookContent {
  const { proof, accountSid, number, files, logger } = options;
  if (request.method === 'GET') return { kind: 'answer', answer: files.serve(request.query.get('file') ?? '') };
  const verdict = verify(request, proof);
  if (verdict.kind === 'refused') return refusedRequest(verdict.why);
  if (verdict.kind === 'ambiguous') {
    logger.warn('twilio.webhook-ambiguous');
    return { kind: 'later' }; // the list brings it, as it was written
  }
  const { fields } = verdict;
  if ((fields.get('AccountSid') ?? accountSid) !== accountSid) return refusedRequest('another account');
  if (isStatus(fields)) {
    options.onStatus(fields, request.query.get('part') ?? undefined);
    return answerWith(204);
  }
  if (fields.get('To') !== number) {
    // No other receiver will take it, but it is not for us to answer in another number's name.
    logger.warn('twilio.other-number', { sid: fields.get('MessageSid') });
    return { kind: 'answer', answer: NOTHING_TO_SAY };
  }
  return readMessage(request, fields, options);
}

function readMessage(
  request: WebhookRequest,
  fields: Fields,
  { toInbound, intake, onMessage, logger }: WebhookOptions,
): WebhookContent {
  const message = toInbound(fields);
  if (!message) {
    logger.error('twilio.unreadable', { bytes: request.body.byteLength });
    return answerWith(400);
  }
  onMessage();
  if (message === 'later') return { kind: 'later' };
  // The offer goes on when the wait ends: it is the same message that the list has.
  return { kind: 'messages', store: async () => (await intake.push(message)) === 'accepted' };
}
