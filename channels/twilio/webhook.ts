/** What Twilio posts -> an answer. The order matters: signature, then account, then what it is, and 200 only after the commit. */
import type { WebhookAnswer, WebhookHandler, WebhookRequest } from '../../src/core/channel.ts';
import type { InboundMessage } from '../../src/core/message.ts';
import type { Clock, Logger } from '../../src/core/ports.ts';
import { withDeadline } from '../kit/deadline.ts';
import type { Intake } from './intake.ts';
import type { PublicFiles } from './public-files.ts';
import { type Fields, type Proof, verify } from './signature.ts';
import { isStatus } from './status.ts';

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
  readonly onRefused: (why: string) => void;
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
const LATER: WebhookAnswer = { status: 503, headers: { 'retry-after': '5' } };

/** A text message is a few kB with all its fields. */
export const MAX_WEBHOOK_BYTES = 64 * 1024;

export function createWebhookHandler(options: WebhookOptions): WebhookHandler {
  const { proof, accountSid, number, files, logger } = options;
  return async (request, signal) => {
    if (request.method === 'GET') return files.serve(request.query.get('file') ?? '');
    const verdict = verify(request, proof);
    if (verdict.kind === 'refused') {
      options.onRefused(verdict.why);
      return { status: 403 };
    }
    if (verdict.kind === 'ambiguous') {
      logger.warn('twilio.webhook-ambiguous');
      return LATER; // the list brings it, as it was written
    }
    const { fields } = verdict;
    if ((fields.get('AccountSid') ?? accountSid) !== accountSid) {
      options.onRefused('another account');
      return { status: 403 };
    }
    if (isStatus(fields)) {
      options.onStatus(fields, request.query.get('part') ?? undefined);
      return { status: 204 };
    }
    if (fields.get('To') !== number) {
      // Nobody else will take it, but it is not for us to answer in another number's name.
      logger.warn('twilio.other-number', { sid: fields.get('MessageSid') });
      return NOTHING_TO_SAY;
    }
    return receiveMessage(request, fields, options, signal);
  };
}

async function receiveMessage(
  request: WebhookRequest,
  fields: Fields,
  { toInbound, intake, onMessage, clock, logger }: WebhookOptions,
  signal: AbortSignal,
): Promise<WebhookAnswer> {
  const message = toInbound(fields);
  if (!message) {
    logger.error('twilio.unreadable', { bytes: request.body.byteLength });
    return { status: 400 };
  }
  onMessage();
  if (message === 'later') return LATER;
  try {
    // Only what is durable is acknowledged. The offer goes on when the wait ends: it is the same message that the list has.
    const outcome = await withDeadline({ clock, ms: ANSWER_WITHIN_MS, signal }, () => intake.push(message));
    return outcome === 'accepted' ? NOTHING_TO_SAY : LATER;
  } catch {
    return LATER; // time ran out, the caller hung up, or the channel stops: the list brings it
  }
}
