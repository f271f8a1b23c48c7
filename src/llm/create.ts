import type { Model } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';
import type { ModelTimeouts } from './deadlines.ts';
import { createDemoModel } from './demo.ts';
import type { Detected } from './detect.ts';
import { createOpenAiChat } from './protocols/openai-chat.ts';
import { type RetryOptions, withRetry } from './retry.ts';

export interface CreateModelOptions extends Pick<RetryOptions, 'maxRetries' | 'random' | 'onRetry'> {
  readonly timeouts: ModelTimeouts;
  readonly clock: Clock;
  /** Replaces the platform's fetch, and with it the connect limit: for tests. */
  readonly fetch?: typeof fetch;
}

/** `warm` loads what the first call would load, so that the first answer does not pay for it. Never rejects for the demo. */
export type CreatedModel = Model & { warm(): Promise<void> };

/**
 * The model of the daemon: wire and retry. One instance serves all sessions, so that they share the limit of the key (F24).
 * The demo has the retry layer too, which is what `/demo fail` shows.
 */
export function createModel(detected: Detected, options: CreateModelOptions): CreatedModel {
  const { target } = detected;
  if (!target) return { ...withRetry(createDemoModel(options), options), warm: async () => undefined };
  const apiKey = detected.apiKey();
  const { provider } = target;
  const wire = createOpenAiChat({
    provider: provider.name,
    model: target.model,
    baseUrl: target.baseUrl,
    ...(apiKey === undefined ? {} : { apiKey }),
    contextWindow: target.contextWindow,
    timeouts: options.timeouts,
    clock: options.clock,
    ...(options.fetch ? { fetch: options.fetch } : {}),
    ...(provider.maxTokensField ? { maxTokensField: provider.maxTokensField } : {}),
    ...(provider.sendReasoning ? { sendReasoning: true } : {}),
  });
  return { ...withRetry(wire, options), warm: wire.warm };
}
