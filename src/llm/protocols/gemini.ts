/** The Gemini wire: request -> SDK stream -> events. The only file that knows the `@google/genai` package. */
import type { GenerateContentParameters, GoogleGenAI, Schema } from '@google/genai/web';
import type { ModelRequest } from '../../core/model.ts';
import type { HeaderLookup } from '../../lib/retry-after.ts';
import { GeminiAssembly } from './gemini-answer.ts';
import { toGeminiContents, toGeminiFunctions } from './gemini-contents.ts';
import { guardedFetch } from './guarded-fetch.ts';
import { toHistory } from './history.ts';
import { AnsweredError } from './http-failure.ts';
import { asRecord } from './tool-call-assembly.ts';
import type { WarmableModel, WireOptions } from './wire.ts';
import { createWireModel } from './wire-model.ts';

/** Models that think; the others refuse to be asked for their thoughts. */
const THINKS = /^(?:models\/)?gemini-(?:2\.5|[3-9]|\d\d|(?:pro|flash|flash-lite)-latest)(?!.*(?:image|tts|audio|live))/;
/** Signatures of that many calls are kept for the turns in flight; a lost one costs the model its earlier thoughts, not the call. */
const SIGNATURES = 1_000;
const BLANK_LINE = Uint8Array.of(10, 10);

/** `baseUrl` holds the version segment: `https://generativelanguage.googleapis.com/v1beta`. */
export function createGemini(options: WireOptions): WarmableModel {
  const signatures = new Map<string, string>();
  const remember = (callId: string, signature: string): void => {
    signatures.set(callId, signature);
    const oldest = signatures.keys().next();
    if (signatures.size > SIGNATURES && !oldest.done) signatures.delete(oldest.value);
  };
  return createWireModel(options, {
    connect: () => createClient(options),
    assembly: (answer) => new GeminiAssembly(answer, remember),
    open: async ({ models }, request, abortSignal) => {
      const body = requestBody(options, request, (callId) => signatures.get(callId));
      return named(await models.generateContentStream({ ...body, config: { ...body.config, abortSignal } }));
    },
  });
}

/**
 * The package's browser build: the same client without what the Node build does on its own, which is reading keys, project and
 * Vertex settings from the environment, printing about them, and loading Google's login library.
 */
async function createClient(options: WireOptions): Promise<GoogleGenAI> {
  const { GoogleGenAI: Client } = await import('@google/genai/web');
  return new Client({
    // `geminiFetch` sends the key, so that the client library cannot put it anywhere else. It refuses an empty one.
    apiKey: 'none',
    vertexai: false,
    // The version is part of the base URL. Without `retryOptions` it sends once.
    httpOptions: { baseUrl: options.baseUrl, apiVersion: '', fetch: geminiFetch(options) },
  });
}

function requestBody(
  { provider, model, facts }: WireOptions,
  request: ModelRequest,
  signature: (callId: string) => string | undefined,
): GenerateContentParameters {
  const { system, steps } = toHistory(request, { provider, model, vision: facts?.vision !== false });
  const functions = toGeminiFunctions(request.tools).map(({ parameters, ...rest }) => ({
    ...rest,
    // The client library turns the type words into its own.
    ...(parameters ? { parameters: parameters as Schema } : {}),
  }));
  return {
    model,
    contents: toGeminiContents(steps, model, signature),
    config: {
      // Both make further calls that nobody asked for.
      automaticContinuation: false,
      automaticFunctionCalling: { disable: true },
      ...(system === '' ? {} : { systemInstruction: { parts: [{ text: system }] } }),
      ...(functions.length === 0 ? {} : { tools: [{ functionDeclarations: functions }] }),
      ...(request.maxOutputTokens === undefined ? {} : { maxOutputTokens: request.maxOutputTokens }),
      ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
      ...(THINKS.test(model) ? { thinkingConfig: { includeThoughts: true } } : {}),
    },
  };
}

/** The guarded fetch in the shape the client library needs, with the key and with errors that keep their headers. */
function geminiFetch(options: WireOptions): typeof fetch {
  const guarded = guardedFetch(options, {
    // The client library ends an event at two line ends of the same kind only.
    plainLineEnds: true,
    pass: ['accept', 'content-type'],
    set: options.apiKey ? { 'x-goog-api-key': options.apiKey } : {},
    wholeAnswer: chunkEvents,
  });
  return async (input, init) => {
    const response = await guarded(input, init);
    // The client library would throw the headers away, and with them Retry-After.
    if (!response.ok) throw answeredError(response.status, await response.text(), response.headers);
    return endedByBlankLine(response);
  };
}

/** Without `alt=sse` the API answers with a list of the same chunks. */
function chunkEvents(answer: unknown): string {
  return (Array.isArray(answer) ? answer : [answer]).map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
}

/**
 * A reader over the body, all the client library uses of it, that ends with a blank line: it drops a last event without one. It never
 * cancels the body: the signal of the call closes the connection.
 */
function endedByBlankLine(response: Response): Response {
  const chunks: AsyncIterator<Uint8Array> | undefined = response.body?.[Symbol.asyncIterator]();
  let ended = false;
  const reader = {
    async read(): Promise<IteratorResult<Uint8Array | undefined>> {
      if (ended || !chunks) return { done: true, value: undefined };
      const step = await chunks.next();
      if (!step.done) return step;
      ended = true;
      return { done: false, value: BLANK_LINE };
    },
    releaseLock: () => undefined,
  };
  const { status, headers } = response;
  return Object.defineProperty(new Response(null, { status, headers }), 'body', { value: { getReader: () => reader } });
}

function answeredError(status: number, body: string, headers: HeaderLookup): AnsweredError {
  const error = errorIn(body);
  const waitMs = retryDelay(error);
  return new AnsweredError(status, error, {
    get: (name) => headers.get(name) ?? (name === 'retry-after-ms' && waitMs !== undefined ? String(waitMs) : null),
  });
}

/** The `error` member of a body, of the first one in a list; else the body itself. */
function errorIn(body: string): unknown {
  try {
    const parsed: unknown = JSON.parse(body);
    return asRecord(Array.isArray(parsed) ? parsed[0] : parsed)['error'] ?? parsed;
  } catch {
    return body;
  }
}

/** `google.rpc.RetryInfo`: a protobuf duration such as `38.5s`. */
function retryDelay(error: unknown): number | undefined {
  const { details } = asRecord(error);
  for (const detail of Array.isArray(details) ? details.map(asRecord) : []) {
    if (!String(detail['@type']).endsWith('google.rpc.RetryInfo')) continue;
    const seconds = /^(\d+(?:\.\d+)?)s$/.exec(String(detail['retryDelay']))?.[1];
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1_000);
  }
  return undefined;
}

/** An error in the middle of a stream is an `ApiError` that holds the chunk only as the end of its message. */
async function* named(stream: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  try {
    yield* stream;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'ApiError') throw error;
    throw new AnsweredError(undefined, errorIn(error.message.slice(error.message.indexOf('{'))));
  }
}
