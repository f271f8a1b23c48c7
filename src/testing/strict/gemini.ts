/**
 * Gemini generateContent (https://ai.google.dev/api/generate-content). The base URL holds the version
 * segment. Counters: see gemini-signatures.ts.
 */

import type { TurnUsage } from './exchange.ts';
import { checkHistory } from './gemini-history.ts';
import { geminiModel } from './gemini-models.ts';
import { checkTools } from './gemini-schema-rules.ts';
import { geminiError, invalidArgument, modelOf, target, unknownField } from './gemini-shapes.ts';
import { checkSignatures, issueSignature } from './gemini-signatures.ts';
import { halves, type Json, record } from './json-shapes.ts';
import type { Memory } from './memory.ts';
import { type CountedTurn, type Refusal, type StrictRequest, type StrictWire, sse, type Turn } from './strict-server.ts';

const FIELDS = new Set(
  'contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent model store serviceTier'.split(' '),
);

export interface GeminiOptions {
  /** Names that are answered by another model, which the answer names: what is paid for is that one. */
  readonly redirects?: Readonly<Record<string, string>>;
}

export function geminiWire({ redirects = {} }: GeminiOptions = {}): StrictWire {
  return {
    provider: 'gemini',
    basePath: '/v1beta',
    refuse: {
      key: (given) => (given === undefined ? noKey() : wrongKey()),
      model: (model) =>
        geminiError(
          404,
          'NOT_FOUND',
          `models/${model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`,
        ),
      overflow: ({ prompt, window }) =>
        invalidArgument(`The input token count (${prompt}) exceeds the maximum number of tokens allowed (${window}).`),
    },
    keyOf: ({ headers, query }) => headers['x-goog-api-key']?.toString() ?? query.get('key') ?? undefined,
    modelOf,
    validate: (request, memory) =>
      checkEnvelope(request) ??
      checkConfig(request) ??
      checkTools(request.body['tools']) ??
      checkHistory(request) ??
      checkSignatures(request, memory),
    complete: (turn, _request, memory) =>
      turn.reasoning === undefined ? { ...turn, reasoning: `Next: step ${memory.nextId('', 6)}.` } : turn,
    count: countTurn,
    answer: (turn, request, memory) => {
      const served = turn.servedModel ?? redirects[modelOf(request)] ?? modelOf(request);
      return frame(request, answerChunks(turn, request, memory, served));
    },
    models: (memory) => ({
      models: memory.available().map((id) => ({
        name: `models/${id}`,
        version: '001',
        displayName: id,
        inputTokenLimit: 1_048_576,
        outputTokenLimit: geminiModel(id).maxOutput,
        supportedGenerationMethods: ['generateContent', 'countTokens'],
      })),
    }),
  };
}

function noKey(): Refusal {
  return geminiError(
    403,
    'PERMISSION_DENIED',
    "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
  );
}

/** A 400, not a 401. */
function wrongKey(): Refusal {
  return invalidArgument('API key not valid. Please pass a valid API key.', [
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'API_KEY_INVALID',
      domain: 'googleapis.com',
      metadata: { service: 'generativelanguage.googleapis.com' },
    },
  ]);
}

function checkEnvelope(request: StrictRequest): Refusal | undefined {
  const { method } = target(request) ?? {};
  if (request.method !== 'POST' || (method !== 'streamGenerateContent' && method !== 'generateContent')) {
    return geminiError(404, 'NOT_FOUND', `${request.path} was not found on this server.`);
  }
  const unknown = Object.keys(request.body).find((key) => !FIELDS.has(key));
  return unknown === undefined ? undefined : unknownField(unknown, '');
}

function checkConfig(request: StrictRequest): Refusal | undefined {
  const config = record(request.body['generationConfig']);
  const { maxOutput } = geminiModel(modelOf(request));
  const { maxOutputTokens: limit, temperature } = config;
  if (typeof limit === 'number' && (limit < 1 || limit > maxOutput)) {
    return invalidArgument(
      `Unable to submit request because it has a maxOutputTokens value of ${limit} but the supported range is from 1 (inclusive) to ${maxOutput + 1} (exclusive). Update the value and try again.`,
    );
  }
  if (typeof temperature === 'number' && (temperature < 0 || temperature > 2)) {
    return invalidArgument(
      `Unable to submit request because it has a temperature value of ${temperature} but the supported range is from 0.0 (inclusive) to 2.0 (inclusive). Update the value and try again.`,
    );
  }
  return checkThinking(record(config['thinkingConfig']), modelOf(request));
}

/**
 * The texts were seen by others who called the API; https://ai.google.dev/gemini-api/docs/thinking has the
 * ranges.
 */
function checkThinking({ thinkingLevel: level, thinkingBudget: budget }: Json, name: string): Refusal | undefined {
  const { levels, budget: range, canBeOff } = geminiModel(name);
  if (level !== undefined && budget !== undefined) {
    return invalidArgument('You can only set only one of thinking budget and thinking level.');
  }
  if (level !== undefined) {
    if (levels.length === 0) return invalidArgument('Thinking level is not supported for this model.');
    if (levels.includes(String(level).toLowerCase())) return undefined;
    return invalidArgument(
      `Thinking level ${String(level).toUpperCase()} is not supported for this model. Please retry with other thinking level.`,
    );
  }
  if (budget === undefined || budget === -1 || (budget === 0 && canBeOff && range)) return undefined;
  if (range === undefined) return invalidArgument('Thinking budget is not supported for this model.');
  if (budget === 0) return invalidArgument('Budget 0 is invalid. This model only works in thinking mode.');
  if (Number(budget) >= range[0] && Number(budget) <= range[1]) return undefined;
  const lowest = canBeOff && range[0] === 1 ? 0 : range[0];
  return invalidArgument(
    `The thinking budget ${String(budget)} is invalid. Please choose a value between ${lowest} and ${range[1]}.`,
  );
}

function thinks(request: StrictRequest): boolean {
  return record(record(request.body['generationConfig'])['thinkingConfig'])['thinkingBudget'] !== 0;
}

/** Prompts are cached by themselves, from the model's minimum on. */
function countTurn(turn: Turn, request: StrictRequest, memory: Memory): TurnUsage {
  const { systemInstruction, tools, contents } = request.body;
  const prefix = JSON.stringify([modelOf(request), systemInstruction, tools, contents]);
  const usage = memory.count(thinks(request) ? turn : { ...turn, reasoning: '' }, request, prefix);
  const { cached = 0 } = usage;
  return cached < geminiModel(modelOf(request)).cacheMinimum ? { ...usage, cached: 0 } : usage;
}

/** As events with `alt=sse`, else as a list that grows; one chunk where the method does not stream. */
function frame(request: StrictRequest, chunks: readonly object[]): readonly string[] {
  if (target(request)?.method === 'generateContent') return [JSON.stringify(joined(chunks))];
  if (request.query.get('alt') === 'sse') return chunks.map((chunk) => sse(chunk));
  return chunks.map((chunk, at) => `${at === 0 ? '[' : ',\r\n'}${JSON.stringify(chunk)}${at + 1 === chunks.length ? ']' : ''}`);
}

function joined(chunks: readonly object[]): object {
  const candidates = chunks.map((chunk) => record((record(chunk)['candidates'] as unknown[] | undefined)?.[0]));
  const parts = candidates.flatMap(({ content }) => (record(content)['parts'] as Json[] | undefined) ?? []);
  const last = record(chunks.at(-1));
  if (last['candidates'] === undefined) return last;
  return { ...last, candidates: [{ ...candidates.at(-1), content: { role: 'model', parts } }] };
}

function answerChunks(turn: CountedTurn, request: StrictRequest, memory: Memory, modelVersion: string): readonly object[] {
  const { in: prompt, out, cached = 0, reasoning = 0 } = turn.usage;
  const usageMetadata = {
    promptTokenCount: prompt,
    candidatesTokenCount: out - reasoning,
    totalTokenCount: prompt + out,
    ...(cached > 0 ? { cachedContentTokenCount: cached } : {}),
    ...(reasoning > 0 ? { thoughtsTokenCount: reasoning } : {}),
  };
  const rest = { usageMetadata, modelVersion, responseId: memory.nextId('', 22) };
  if (turn.stop === 'refusal') return [{ promptFeedback: { blockReason: turn.finish ?? 'PROHIBITED_CONTENT' }, ...rest }];
  const parts = answerParts(turn, request, memory);
  const chunks = parts.map((part) => ({ candidates: [{ content: { role: 'model', parts: [part] }, index: 0 }], ...rest }));
  if (turn.error) {
    const status = turn.error.status === 503 ? 'UNAVAILABLE' : 'INTERNAL';
    return [...chunks, { error: { code: turn.error.status, message: turn.error.message, status } }];
  }
  const candidate = { content: { role: 'model', parts: [] }, finishReason: finishReason(turn), index: 0 };
  return [...chunks, { candidates: [candidate], ...rest }];
}

function answerParts(turn: CountedTurn, request: StrictRequest, memory: Memory): readonly Json[] {
  const { includeThoughts } = record(record(request.body['generationConfig'])['thinkingConfig']);
  const shown = includeThoughts === true && thinks(request) && turn.reasoning;
  // A call that was cut never arrives: calls come whole on this wire.
  const calls = turn.stop === 'length' ? (turn.calls ?? []).slice(0, -1) : (turn.calls ?? []);
  const parts: Json[] = [
    ...(shown ? [{ text: turn.reasoning, thought: true }] : []),
    ...halves(turn.text ?? '').map((text) => ({ text })),
  ];
  for (const [nth, { name, args }] of calls.entries()) {
    const part = { functionCall: { id: memory.nextId('', 8), name, args } };
    // Of calls made at once only the first one is signed.
    const thoughtSignature = nth === 0 ? issueSignature(part, request, memory) : undefined;
    parts.push({ ...part, ...(thoughtSignature === undefined ? {} : { thoughtSignature }) });
  }
  if (calls.length > 0 || !turn.text) return parts;
  const thoughtSignature = issueSignature({ text: turn.text }, request, memory);
  return thoughtSignature === undefined ? parts : [...parts, { text: '', thoughtSignature }];
}

function finishReason({ stop, finish }: Turn): string {
  if (finish !== undefined) return finish;
  if (stop === 'length') return 'MAX_TOKENS';
  return stop === 'filtered' ? 'SAFETY' : 'STOP';
}
