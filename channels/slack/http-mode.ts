/** Receiving by signed requests. A gap cannot be noticed here, so the history is compared every ten minutes. */
import type { Webhook, WebhookAnswer, WebhookRequest } from '../../src/core/channel.ts';
import { reconnect } from '../kit/reconnect.ts';
import { pause, type Receiver } from './receiver.ts';
import { readRequest, refuseRequest } from './webhook.ts';

/** Below the three seconds after which the platform counts a request as failed and sends it again. */
const ANSWER_WITHIN_MS = 2_500;
const CATCH_UP_EVERY_MS = 600_000;

/** Receives until the signal aborts or the login is refused for good. Never rejects. */
export async function receiveByHttp(receiver: Receiver, signingSecret: string): Promise<void> {
  const { deps, signal, settled } = receiver.options;
  const { clock, random, webhooks, logger } = deps;
  let webhook: Webhook | undefined;
  const serve = async (): Promise<void> => {
    webhook = await webhooks.serve((request, gone) => answer(receiver, signingSecret, request, gone));
    logger.info('slack.webhook', { path: webhook.path, local: webhook.localOrigin });
  };
  try {
    await reconnect({
      run: async (connected) => {
        if (!webhook) await serve();
        await receiver.login();
        receiver.connected();
        const { begun, done } = receiver.catchUpFirst(false, signal);
        receiver.intake?.holdUntil(begun);
        await begun;
        receiver.healthy();
        settled();
        connected();
        await done;
        await pause(clock, CATCH_UP_EVERY_MS, signal);
      },
      onEnd: (error, waitMs) => error === undefined || receiver.failed(error, waitMs),
      clock,
      random,
      signal,
    });
    await receiver.intakeEnded();
  } finally {
    await webhook?.[Symbol.asyncDispose]();
  }
}

async function answer(
  receiver: Receiver,
  signingSecret: string,
  request: WebhookRequest,
  gone: AbortSignal,
): Promise<WebhookAnswer> {
  const { logger, clock } = receiver.options.deps;
  if (request.method !== 'POST') return { status: 405 };
  const refusal = refuseRequest(request, signingSecret, clock.now());
  if (refusal !== undefined) {
    logger.warn('slack.request-refused', { refusal });
    return { status: 401 };
  }
  const { 'x-slack-retry-num': count, 'x-slack-retry-reason': reason } = request.headers;
  if (count !== undefined) logger.info('slack.redelivered', { count, reason });
  const content = readRequest(request);
  if (content.kind === 'challenge') return { status: 200, body: content.challenge };
  if (content.kind === 'other') return { status: 200 };
  const committed = Promise.withResolvers<true>();
  const ack = async (): Promise<void> => committed.resolve(true);
  if (!receiver.intake?.push({ payload: content.payload, ack })) return BUSY;
  const done = new AbortController();
  const late = clock.sleep(ANSWER_WITHIN_MS, AbortSignal.any([gone, done.signal])).then(
    () => false,
    () => false,
  );
  // What is committed after that is recognised when it comes again.
  const accepted = await Promise.race([committed.promise, late]);
  done.abort();
  return accepted ? { status: 200 } : BUSY;
}

/** The platform tries again at once, after a minute and after five. */
const BUSY: WebhookAnswer = { status: 503, headers: { 'retry-after': '5' } };
