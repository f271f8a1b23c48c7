/** The OpenAI chat completions wire: request -> SDK stream -> events. The only file that knows the `openai` package. */
import type OpenAI from 'openai';
import type { Model, ModelEvent, ModelFailure, ModelRequest } from '../../core/model.ts';
import type { Clock } from '../../core/ports.ts';
import { NO_LONGER_NEEDED } from '../../lib/no-longer-needed.ts';
import { connectLimitedFetch } from '../connect.ts';
import { CallTimeout, type ModelTimeouts, startWatchdog } from '../deadlines.ts';
import { abortedFailure, createFailure } from '../failure.ts';
import { createRedactor } from '../redact.ts';
import { estimateRequestTokens } from '../tokens.ts';
import { type FailureContext, failureOfConnection, failureOfErrorObject, failureOfStatus } from './http-failure.ts';
import { AnswerAssembly } from './openai-answer.ts';
import { toOpenAiMessages, toOpenAiTools } from './openai-messages.ts';
import { guardFetch, WireFault } from './wire-guard.ts';

export interface OpenAiChatOptions {
  readonly provider: string;
  readonly model: string;
  /** With the version segment, without a trailing slash: `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  /** Absent for servers that take none; then no Authorization header is sent. */
  readonly apiKey?: string;
  readonly contextWindow: number;
  readonly timeouts: ModelTimeouts;
  readonly clock: Clock;
  readonly fetch?: typeof fetch;
  /** Name of the output limit: OpenAI's own models want `max_completion_tokens`, everybody else knows `max_tokens`. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens';
  /** Send the reasoning of the present turn back (Kimi, DeepSeek). */
  readonly sendReasoning?: boolean;
}

/** A model that can load its SDK ahead of the first call. */
export type WarmableModel = Model & { warm(): Promise<void> };

/** After the finish reason only the usage is missing; a server that then keeps the line open need not be waited for. */
const USAGE_WAIT_MS = 2_000;
/** OpenAI's reasoning models refuse any temperature but the default. */
const FIXED_TEMPERATURE = /^(?:o\d|gpt-5)/;

/** Connects nothing and loads nothing until the first call or `warm`. Retries nothing: see `withRetry`. */
export function createOpenAiChat(options: OpenAiChatOptions): WarmableModel {
  let loading: Promise<OpenAI> | undefined;
  const client = (): Promise<OpenAI> => {
    loading ??= createClient(options);
    return loading;
  };
  return {
    id: `${options.provider}/${options.model}`,
    contextWindow: options.contextWindow,
    call: (request, signal) => call(options, client, request, signal),
    async warm() {
      await client();
    },
  };
}

async function createClient(options: OpenAiChatOptions): Promise<OpenAI> {
  const { default: Client } = await import('openai');
  return new Client({
    apiKey: options.apiKey ?? 'none',
    // All of these default to environment variables, which are the operator's for OpenAI and not for this provider.
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
    fetch: guardFetch(options.fetch ?? connectLimitedFetch(options.timeouts.connectMs), 'gatehouse'),
    ...(options.apiKey ? {} : { defaultHeaders: { Authorization: null } }),
  });
}

async function* call(
  options: OpenAiChatOptions,
  client: () => Promise<OpenAI>,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  if (signal.aborted) return yield failed(abortedFailure());
  const inputTokens = estimateRequestTokens(request);
  const assembly = new AnswerAssembly({ provider: options.provider, model: options.model, inputTokens });
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  let streaming = false;
  let closing: readonly ModelEvent[];
  using watchdog = startWatchdog({ clock: options.clock, controller, timeouts: options.timeouts, inputTokens });
  try {
    const api = await orAbort(client(), controller.signal);
    const stream = await orAbort(
      api.chat.completions.create(requestBody(options, request), { signal: controller.signal }),
      controller.signal,
    );
    streaming = true;
    const chunks: AsyncIterator<unknown> = stream[Symbol.asyncIterator]();
    for (;;) {
      const step = await orAbort(chunks.next(), controller.signal);
      if (step.done) break;
      const { events, progress } = assembly.add(step.value);
      if (progress) watchdog.progress();
      if (assembly.finished) watchdog.shorten(USAGE_WAIT_MS);
      watchdog.pause();
      yield* events;
      watchdog.resume();
      if (assembly.looping) break;
    }
    // The SDK ends an aborted stream as if it were complete.
    controller.signal.throwIfAborted();
    closing = assembly.end();
  } catch (error) {
    // A complete answer is not lost because its connection ended badly afterwards.
    if (assembly.finished && !signal.aborted) closing = assembly.end();
    else closing = [failed(signal.aborted ? abortedFailure() : toFailure(error, streaming, options))];
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Closes the socket when the consumer left early; after a complete answer there is nothing left to close.
    controller.abort(NO_LONGER_NEEDED);
  }
  yield* closing;
}

function requestBody(options: OpenAiChatOptions, request: ModelRequest): OpenAI.Chat.ChatCompletionCreateParamsStreaming {
  const limit = request.maxOutputTokens;
  const field = options.maxTokensField ?? 'max_tokens';
  return {
    model: options.model,
    messages: toOpenAiMessages(request.messages, options.sendReasoning ?? false),
    stream: true,
    stream_options: { include_usage: true },
    ...(request.tools.length === 0 ? {} : { tools: toOpenAiTools(request.tools) }),
    ...(limit === undefined ? {} : { [field]: limit }),
    ...(request.temperature === undefined || FIXED_TEMPERATURE.test(options.model) ? {} : { temperature: request.temperature }),
  };
}

function failed(failure: ModelFailure): ModelEvent {
  return { type: 'failed', failure };
}

function toFailure(error: unknown, streaming: boolean, options: OpenAiChatOptions): ModelFailure {
  if (error instanceof CallTimeout) return createFailure('timeout', { message: `${options.provider}: ${error.message}` });
  const fault = findFault(error);
  if (fault) return fault.failure;
  const context: FailureContext = {
    provider: options.provider,
    model: options.model,
    redact: createRedactor([options.apiKey, ...urlSecrets(options.baseUrl)]),
    now: options.clock.now(),
  };
  if (isApiError(error)) {
    if (error.status !== undefined) return failureOfStatus(error.status, error.error, error.headers, context);
    if (error.error !== undefined) return failureOfErrorObject(error.error, context);
  }
  if (error instanceof SyntaxError)
    return createFailure('malformed', { message: `${options.provider} sent a chunk that is not JSON` });
  if (streaming) return createFailure('malformed', { message: `${options.provider} broke the stream off` });
  return failureOfConnection(error, origin(options.baseUrl), context);
}

interface ApiError {
  readonly status: number | undefined;
  readonly error: unknown;
  readonly headers: Headers | undefined;
}

/** By shape: the SDK's classes are only there once it is loaded. */
function isApiError(error: unknown): error is ApiError {
  return error instanceof Error && 'status' in error && 'error' in error && 'headers' in error;
}

function findFault(error: unknown): WireFault | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 6; at = at.cause, depth += 1)
    if (at instanceof WireFault) return at;
  return undefined;
}

function origin(baseUrl: string): string {
  return URL.parse(baseUrl)?.origin ?? 'an invalid base_url';
}

function urlSecrets(baseUrl: string): string[] {
  const url = URL.parse(baseUrl);
  return url ? [url.password, ...url.searchParams.values()] : [];
}

/** Settles with the promise, or at once with the reason when the signal aborts: the SDK may still be cleaning up by then. */
function orAbort<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    promise.then(
      (value) => {
        signal.removeEventListener('abort', onAbort);
        resolve(value);
      },
      (error) => {
        signal.removeEventListener('abort', onAbort);
        reject(error);
      },
    );
  });
}
