/** Makes the client of the `openai` package: the only file that loads it. Both OpenAI wires use it. */
import type OpenAI from 'openai';
import { guardedFetch } from './guarded-fetch.ts';
import type { WireOptions } from './wire.ts';

export type { OpenAI };

/** Models that take the default temperature alone: OpenAI's that reason, by any cloud's name; Moonshot's. */
const FIXED_TEMPERATURE = /(?:^|[./-])o\d|gpt-[5-9]|^kimi-/i;

/** Retries nothing, reads nothing from the environment, and is bounded by `guardFetch`. */
export async function createOpenAiClient(options: WireOptions): Promise<OpenAI> {
  const { default: Client } = await import('openai');
  const { apiKey, keyHeader } = options;
  return new Client({
    apiKey: apiKey || 'none',
    // All default to environment variables, which are the operator's for OpenAI, not for this provider.
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    baseURL: options.baseUrl,
    maxRetries: 0,
    // The SDK prints broken chunks to the console otherwise.
    logLevel: 'off',
    // Never first: the watchdog knows the limits and can tell which one passed.
    timeout: options.timeouts.totalMs + 60_000,
    fetch: guardedFetch(options, keyHeader && apiKey ? { set: { [keyHeader]: apiKey } } : {}),
    ...(apiKey && !keyHeader ? {} : { defaultHeaders: { Authorization: null } }),
  });
}

/** False where a temperature would be refused with a 400. */
export function takesTemperature(provider: string, model: string): boolean {
  return provider !== 'moonshot' && !FIXED_TEMPERATURE.test(model);
}
