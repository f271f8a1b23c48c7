/** A platform's request -> an answer. What is not durable yet is never acknowledged. */
import type { WebhookAnswer, WebhookHandler, WebhookRequest } from '../../src/core/channel.ts';
import type { Clock, Logger } from '../../src/core/ports.ts';
import { withDeadline } from './deadline.ts';
import { RefusedRequests } from './refused-requests.ts';

/** What a request is, once the channel has verified and read it. */
export type WebhookContent =
  /**
   * Not to be believed. The operator reads the reason, which holds nothing of the request; the caller learns
   * nothing.
   */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Nothing to commit: a challenge, a notice, a file. */
  | { readonly kind: 'answer'; readonly answer: WebhookAnswer }
  /** There is no room for it now: the platform is to offer it again. */
  | { readonly kind: 'later' }
  /**
   * Messages. `store` resolves once they are durable; when it rejects, or resolves to false, they are not
   * acknowledged. Its signal ends with the time that the platform waits, but the work may go on: what is
   * durable later is recognised when it comes again.
   */
  | { readonly kind: 'messages'; readonly store: (signal: AbortSignal) => Promise<unknown> };

export interface WebhookIntakeOptions {
  /** Verifies the request over the bytes that came, then reads it. Must not throw. */
  readonly read: (request: WebhookRequest) => WebhookContent;
  /** Shorter than the platform waits. ms. */
  readonly holdMs: number;
  /** Answers a request whose messages are durable. Default: 200 without a body. */
  readonly stored?: WebhookAnswer;
  readonly refused: {
    readonly status: 401 | 403;
    /** Name of the log line, and what is logged beside the reason. */
    readonly event: string;
    readonly data?: Readonly<Record<string, string>>;
  };
  /** Default 5. */
  readonly retryAfterSecs?: number;
  /** Told why messages are not acknowledged. */
  readonly onNotStored?: (error: unknown) => void;
  /** Ends the wait in place of the caller's signal, for a platform that hangs up before it repeats. */
  readonly signal?: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Serves one channel's webhook: 200 after the commit, 503 without one. Never rejects. */
export function createWebhookIntake(options: WebhookIntakeOptions): WebhookHandler {
  const { read, holdMs, stored = { status: 200 }, refused, retryAfterSecs = 5, onNotStored, clock, logger } = options;
  const later: WebhookAnswer = { status: 503, headers: { 'retry-after': String(retryAfterSecs) } };
  const refusals = new RefusedRequests({ event: refused.event, clock, logger });
  return async (request, caller) => {
    const content = read(request);
    switch (content.kind) {
      case 'refused':
        refusals.note(content.reason, refused.data);
        return { status: refused.status };
      case 'answer':
        return content.answer;
      case 'later':
        return later;
      case 'messages':
        try {
          const durable = await withDeadline({ clock, ms: holdMs, signal: options.signal ?? caller }, content.store);
          return durable === false ? later : stored;
        } catch (error) {
          onNotStored?.(error);
          return later;
        }
    }
  };
}

/** A verdict on a request that is not to be believed. */
export function refusedRequest(reason: string): { readonly kind: 'refused'; readonly reason: string } {
  return { kind: 'refused', reason };
}

/** An answer that needs no commit. */
export function answerWith(status: number, body?: string, headers?: WebhookAnswer['headers']): WebhookContent {
  return { kind: 'answer', answer: { status, ...(headers && { headers }), ...(body !== undefined && { body }) } };
}
