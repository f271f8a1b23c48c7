/** The Gemini wire: request -> SDK -> events. The only file that knows the `@google/genai` package. */
import type { GenerateContentParameters, GoogleGenAI, ThinkingConfig, ThinkingLevel } from '@google/genai/web';
import type { ModelRequest } from '../../core/model.ts';
import type { HeaderLookup } from '../../lib/retry-after.ts';
import { GeminiAssembly } from './gemini-answer.ts';
import { isGemini3, toGeminiContents, toGeminiFunctions } from './gemini-contents.ts';
import { guardedFetch } from './guarded-fetch.ts';
import { toHistory } from './history.ts';
import { AnsweredError } from './http-failure.ts';
import { thinkingWord } from './thinking.ts';
import { asRecord } from './tool-call-assembly.ts';
import type { WarmableModel, WireOptions } from './wire.ts';
import { createWireModel } from './wire-model.ts';

/** Models that think; the others refuse to be asked for their thoughts. */
const THINKS = /^(?:models\/)?gemini-(?:2\.5|[3-9]|\d\d|(?:pro|flash|flash-lite)-latest)(?!.*(?:image|tts|audio|live))/;
/** Of models that nothing is known of; older ones have a number of tokens for each. */
const LEVELS = ['low', 'medium', 'high'];

/** `baseUrl` holds the version segment: `https://generativelanguage.googleapis.com/v1beta`. */
export function createGemini(options: WireOptions): WarmableModel {
  const send = geminiFetch(options);
  return createWireModel(options, {
    connect: () => createClient(options),
    assembly: (answer) => new GeminiAssembly(answer),
    open: async ({ models }, request, abortSignal) => {
      const body = requestBody(options, request);
      // The client library hands on only a stream that it reads itself, with a `Response` for each chunk.
      const { promise, resolve } = Promise.withResolvers<Response>();
      const keep: typeof fetch = async (input, init) => {
        const answer = await send(input, init);
        resolve(answer);
        return answer;
      };
      await models.generateContentStream({ ...body, config: { ...body.config, abortSignal, httpOptions: { fetch: keep } } });
      return await promise;
    },
  });
}

/**
 * The package's browser build. The Node build would also read keys, project and Vertex settings from the
 * environment, print about them, and load Google's login library.
 */
async function createClient(options: WireOptions): Promise<GoogleGenAI> {
  const { GoogleGenAI: Client } = await import('@google/genai/web');
  return new Client({
    // `geminiFetch`, which each request brings along, sends the key, so that the client library cannot put it
    // anywhere else. It refuses an empty one.
    apiKey: 'none',
    vertexai: false,
    // The version is part of the base URL. Without `retryOptions` it sends once.
    httpOptions: { baseUrl: options.baseUrl, apiVersion: '' },
  });
}

function requestBody({ provider, model, facts }: WireOptions, request: ModelRequest): GenerateContentParameters {
  const { system, steps } = toHistory(request, { provider, model, vision: facts?.vision !== false });
  const { maxOutputTokens } = request;
  const functions = toGeminiFunctions(request.tools);
  return {
    model,
    contents: toGeminiContents(steps, model, provider),
    config: {
      // Each would make further calls by itself, which would be paid for.
      automaticContinuation: false,
      automaticFunctionCalling: { disable: true },
      ...(system === '' ? {} : { systemInstruction: { parts: [{ text: system }] } }),
      ...(functions.length === 0 ? {} : { tools: [{ functionDeclarations: functions }] }),
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
      ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
      ...(THINKS.test(model) ? { thinkingConfig: thinkingConfig(model, facts, request.thinking) } : {}),
    },
  };
}

/** Levels from version 3 on, before that a number of tokens; both together are refused. */
function thinkingConfig(model: string, facts: WireOptions['facts'], level: ModelRequest['thinking']): ThinkingConfig {
  const word = thinkingWord(level, (isGemini3(model) && facts?.thinking) || LEVELS);
  if (word === undefined) return { includeThoughts: true };
  if (isGemini3(model)) return { includeThoughts: true, thinkingLevel: word.toUpperCase() as ThinkingLevel };
  const most = /pro/.test(model) ? 32_768 : 24_576;
  // Pro cannot stop thinking.
  const least = /pro/.test(model) ? 128 : 0;
  const thinkingBudget = { low: 1_024, medium: 8_192, high: most }[String(level)] ?? least;
  return { includeThoughts: thinkingBudget > 0, thinkingBudget };
}

/** The guarded fetch as the client library wants it, with the key and with errors that keep their headers. */
function geminiFetch(options: WireOptions): typeof fetch {
  const guarded = guardedFetch(options, {
    pass: ['accept', 'content-type'],
    set: options.apiKey ? { 'x-goog-api-key': options.apiKey } : {},
  });
  return async (input, init) => {
    const response = await guarded(input, init);
    // The client library would throw the headers away, and with them Retry-After.
    if (!response.ok) throw answeredError(response.status, await response.text(), response.headers);
    return response;
  };
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
