/** The Anthropic messages wire: request -> SDK -> events. Only this file knows `@anthropic-ai/sdk`. */
import type Anthropic from '@anthropic-ai/sdk';
import type { ModelRequest } from '../../core/model.ts';
import { AnthropicAssembly } from './anthropic-answer.ts';
import { CACHED, markForCache, mayBeginThinking, toAnthropicMessages, toAnthropicTools } from './anthropic-messages.ts';
import { claudeModel, claudeThinking } from './claude-models.ts';
import { guardedFetch } from './guarded-fetch.ts';
import { toHistory } from './history.ts';
import type { WarmableModel, WireOptions } from './wire.ts';
import { createWireModel } from './wire-model.ts';

/** https://docs.anthropic.com/en/api/versioning */
const VERSION = '2023-06-01';
/** This API refuses a request without a limit (spec B1: for models nothing is known of). */
const DEFAULT_MAX_TOKENS = 4_096;
/** Others on this wire know no marks for the cache and no parameters for thinking, and promise no pings. */
const GENUINE = ['anthropic', 'bedrock'];

/** `baseUrl` holds no version: `https://api.anthropic.com`. */
export function createAnthropic(options: WireOptions): WarmableModel {
  // By what a request has in common with the one that is sent after a refusal.
  const digests = new WeakMap<ModelRequest['context'], string>();
  return createWireModel(
    { ...options, promisesSigns: GENUINE.includes(options.provider) },
    {
      connect: () => createClient(options),
      outputLimit: options.facts?.maxOutputTokens ?? DEFAULT_MAX_TOKENS,
      assembly: (answer, request) => new AnthropicAssembly(answer, () => digests.get(request.context)),
      open: async (client, request, signal) => {
        const { body, digest } = requestBody(options, request);
        if (digest !== undefined) digests.set(request.context, digest);
        // `post`, because `messages.create` prints a warning to the console for models that will be retired.
        return await client.post('/v1/messages', { body, stream: true, signal }).asResponse();
      },
    },
  );
}

async function createClient(options: WireOptions): Promise<Anthropic> {
  const { default: Client } = await import('@anthropic-ai/sdk');
  return new Client({
    // A key in code keeps the library from looking for others in the environment and profile files. It would
    // go out as a bearer token, which `pass` holds back: gateways with this wire know `x-api-key` alone.
    apiKey: 'none',
    webhookKey: null,
    baseURL: options.baseUrl,
    maxRetries: 0,
    logLevel: 'off',
    // Reads the environment and adds headers when left out.
    openTelemetry: false,
    // Never first: the watchdog knows the limits and can tell which one passed.
    timeout: options.timeouts.totalMs + 60_000,
    fetch: guardedFetch(options, {
      pass: ['accept', 'content-type'],
      set: { 'anthropic-version': VERSION, ...(options.apiKey ? { 'x-api-key': options.apiKey } : {}) },
    }),
  });
}

function requestBody(
  { provider, model, facts }: WireOptions,
  request: ModelRequest,
): { readonly body: Anthropic.MessageCreateParamsStreaming; readonly digest: string | undefined } {
  const { maxOutputTokens: maxTokens = DEFAULT_MAX_TOKENS, temperature } = request;
  const { system, steps } = toHistory(request, { provider, model, vision: facts?.vision !== false });
  const tools = toAnthropicTools(request.tools);
  const claude = claudeModel(model);
  const history = toAnthropicMessages(steps, claude.version > 500 ? JSON.stringify([system, tools]) : undefined);
  const genuine = GENUINE.includes(provider);
  const limits = { maxTokens, mayBegin: mayBeginThinking(history) };
  const thinking = genuine ? claudeThinking(claude, facts, request.thinking, limits) : {};
  if (genuine) markForCache(history);
  const takesTemperature = claude.version < 407 && (thinking.thinking?.type ?? 'disabled') === 'disabled';
  const body: Anthropic.MessageCreateParamsStreaming = {
    model,
    max_tokens: maxTokens,
    ...(system === '' ? {} : { system: genuine ? [{ type: 'text', text: system, ...CACHED }] : system }),
    messages: history.messages,
    stream: true,
    ...(tools.length === 0 ? {} : { tools }),
    // The scale ends at 1 here, at 2 elsewhere.
    ...(temperature === undefined || !takesTemperature ? {} : { temperature: Math.min(temperature, 1) }),
    ...thinking,
  };
  return { body, digest: history.digest };
}
