import { GatehouseError } from '../core/errors.ts';
import type { Model } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';
import { installCommand } from '../lib/optional-packages.ts';
import type { ModelTimeouts } from './deadlines.ts';
import { createDemoModel } from './demo.ts';
import { createAnthropic } from './protocols/anthropic.ts';
import { createGemini } from './protocols/gemini.ts';
import { createOpenAiChat } from './protocols/openai-chat.ts';
import { createOpenAiResponses } from './protocols/openai-responses.ts';
import type { WarmableModel, WireOptions } from './protocols/wire.ts';
import type { ResolvedProvider } from './providers/resolve.ts';
import { type RetryOptions, withRetry } from './retry.ts';

export interface WireDeps {
  readonly timeouts: ModelTimeouts;
  readonly clock: Clock;
  /** Replaces the platform's fetch, and with it the connect limit: for tests. */
  readonly fetch?: typeof fetch;
}

/**
 * The model of a target as its provider speaks it, nothing around it. Its SDK is loaded at the first call or
 * by `warm`. Throws GH1105 where it is not installed.
 */
export function createWire(target: ResolvedProvider, apiKey: string | undefined, deps: WireDeps): WarmableModel {
  const { provider, model, wire, baseUrl, contextWindow, facts, extraHeaders: headers, extraBody, credentials } = target;
  const options: WireOptions = {
    ...{ provider: provider.name, model, baseUrl, contextWindow, facts },
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(provider.keyHeader ? { keyHeader: provider.keyHeader } : {}),
    ...(headers ? { headers } : {}),
    ...(extraBody ? { extraBody } : {}),
    ...(credentials ? { sign: credentials.sign } : {}),
    ...deps,
  };
  switch (wire) {
    case 'openai-chat':
      return createOpenAiChat(options);
    case 'openai-responses':
      return createOpenAiResponses(options);
    case 'anthropic':
      return createAnthropic(options);
    case 'gemini':
      mustHaveGemini();
      return createGemini(options);
  }
}

/** Throws GH1105 with the command that installs the package. */
function mustHaveGemini(): void {
  const command = installCommand('models', 'gemini');
  if (command === undefined) return;
  throw new GatehouseError('GH1105', 'the package that speaks to Gemini is not installed', {
    hint: `run \`${command}\`, then start again`,
  });
}

/** The labelled demo. It has the retry layer, which is what `/demo fail` shows. */
export function createDemo(deps: WireDeps & Pick<RetryOptions, 'random' | 'onRetry'>): Model {
  return withRetry(createDemoModel(deps), deps);
}
