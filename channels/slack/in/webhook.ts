/**
 * Receiving by signed requests. A gap cannot be noticed here, so the history is compared every ten minutes.
 */
import type { Webhook, WebhookHandler } from '../../../src/core/channel.ts';
import { reconnect } from '../../kit/reconnect.ts';
import { answerWith, createWebhookIntake, refusedRequest } from '../../kit/webhook-intake.ts';
import { pause, type Receiver } from './receive.ts';
import { readRequest, refuseRequest } from './request.ts';

/** Below the three seconds after which the platform counts a request as failed and sends it again. */
const ANSWER_WITHIN_MS = 2_500;
const CATCH_UP_EVERY_MS = 600_000;

/** Receives until the signal aborts or the login is refused for good. Never rejects. */
export async function receiveByHttp(receiver: Receiver, signingSecret: string): Promise<void> {
  const { deps, signal, settled } = receiver.options;
  const { clock, random, webhooks, logger } = deps;
  let webhook: Webhook | undefined;
  const serve = async (): Promise<void> => {
    webhook = await webhooks.serve(createHandler(receiver, signingSecret));
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

function createHandler(receiver: Receiver, signingSecret: string): WebhookHandler {
  const { logger, clock } = receiver.options.deps;
  return createWebhookIntake({
    read: (request) => {
      if (request.method !== 'POST') return answerWith(405);
      const refusal = refuseRequest(request, signingSecret, clock.now());
      if (refusal !== undefined) return refusedRequest(refusal);
      const { 'x-slack-retry-num': count, 'x-slack-retry-reason': reason } = request.headers;
      if (count !== undefined) logger.info('slack.redelivered', { count, reason });
      const content = readRequest(request);
      if (content.kind === 'other') receiver.notices?.unhandled(`request/${content.what}`);
      if (content.kind !== 'payload') return answerWith(200, content.kind === 'challenge' ? content.challenge : undefined);
      const { promise, resolve } = Promise.withResolvers<void>();
      const pushed = receiver.take({ payload: content.payload, ack: async () => resolve() });
      return pushed ? { kind: 'messages', store: () => promise } : { kind: 'later' };
    },
    holdMs: ANSWER_WITHIN_MS,
    refused: { status: 401, event: 'slack.request-refused' },
    clock,
    logger,
  });
}
