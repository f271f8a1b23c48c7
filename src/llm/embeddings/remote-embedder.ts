// texts -> batches -> one request each -> checked, normalised vectors in the order of the texts
import type { Embedder } from '../../core/media-models.ts';
import { toUnitVector } from '../../lib/unit-vector.ts';
import { type Endpoint, malformedAnswer, nothingCame, postJson } from '../post-json.ts';
import { asRecord } from '../protocols/tool-call-assembly.ts';
import { WireFault } from '../protocols/wire-guard.ts';
import { textTokens } from '../tokens.ts';

/** What one request cost, for the ledger. */
export interface EmbeddingUsage {
  readonly provider: string;
  readonly model: string;
  readonly tokensIn: number;
  /** True where the server did not say and the number is an estimate. */
  readonly estimated: boolean;
}

export type RemoteProvider = 'openai' | 'gemini' | 'ollama';

export interface RemoteEmbedderOptions extends Pick<Endpoint, 'apiKey' | 'clock' | 'random' | 'fetch'> {
  readonly provider: RemoteProvider;
  /** Default: the provider's usual one. */
  readonly model?: string;
  /** With the version segment. Default: the provider's own. */
  readonly baseUrl?: string;
  /** Ask for vectors of this length. Default: the model's own. */
  readonly dimensions?: number;
  /** Most texts of one request, for servers that take fewer than the provider (DashScope: 10). */
  readonly maxTexts?: number;
  /** One request with its retries. Default 60 s. */
  readonly timeoutMs?: number;
  /** Called once per batch that was answered, before its vectors are used; must not throw. */
  readonly onUsage?: (usage: EmbeddingUsage) => void;
}

/** One route of a server. `read` checks nothing; its vectors stand in the order of the texts. */
interface Route {
  readonly path: (model: string) => string;
  readonly body: (texts: readonly string[], model: string, dimensions: number | undefined) => object;
  readonly read: (answer: Readonly<Record<string, unknown>>) => { readonly vectors: unknown; readonly tokens?: unknown };
}

/** What differs between providers. */
interface EmbeddingWire extends Route {
  readonly model: string;
  readonly baseUrl: string;
  /** Default: `authorization`. */
  readonly keyHeader?: string;
  /** Most texts of one request. */
  readonly maxTexts: number;
  /** Asked one text at a time where the server does not know the other route. */
  readonly older?: Route;
}

const WIRES: Readonly<Record<RemoteProvider, EmbeddingWire>> = {
  // Most compatible servers speak it too. More than 100 texts gain nothing and cost more to repeat.
  openai: {
    model: 'text-embedding-3-small',
    baseUrl: 'https://api.openai.com/v1',
    maxTexts: 100,
    path: () => '/embeddings',
    body: (texts, model, dimensions) => ({ model, input: texts, encoding_format: 'float', dimensions }),
    read: ({ data, usage }) => ({ vectors: byIndex(data), tokens: asRecord(usage)['prompt_tokens'] }),
  },
  // https://ai.google.dev/api/embeddings: "At most 100 requests can be in one batch."
  gemini: {
    model: 'gemini-embedding-001',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    maxTexts: 100,
    path: (model) => `/${geminiName(model)}:batchEmbedContents`,
    // The address could carry the key as well, but it ends up in the logs of proxies.
    keyHeader: 'x-goog-api-key',
    body: (texts, model, dimensions) => ({
      requests: texts.map((text) => ({
        model: geminiName(model),
        content: { parts: [{ text }] },
        outputDimensionality: dimensions,
      })),
    }),
    read: ({ embeddings, usageMetadata }) => ({
      vectors: Array.isArray(embeddings) ? embeddings.map((item) => asRecord(item)['values']) : undefined,
      tokens: asRecord(usageMetadata)['promptTokenCount'],
    }),
  },
  // https://github.com/ollama/ollama/blob/main/docs/api.md. A request holds the server's only slot.
  ollama: {
    model: 'nomic-embed-text',
    baseUrl: 'http://127.0.0.1:11434',
    maxTexts: 32,
    path: () => '/api/embed',
    body: (texts, model) => ({ model, input: texts, truncate: true }),
    read: ({ embeddings, prompt_eval_count }) => ({ vectors: embeddings, tokens: prompt_eval_count }),
    // Servers before 0.3.
    older: {
      path: () => '/api/embeddings',
      body: ([prompt], model) => ({ model, prompt }),
      read: ({ embedding }) => ({ vectors: [embedding] }),
    },
  },
};

const TIMEOUT_MS = 60_000;
/** 100 vectors of 4,096 numbers of 25 characters are 10 MB. */
const MAX_ANSWER_BYTES = 16_000_000;
/**
 * Estimated tokens of one text, which is cut there. OpenAI refuses inputs above 8,192 tokens, and the
 * estimate is up to a third too low for code and numbers.
 */
const MAX_TEXT_TOKENS = 6_000;
/** OpenAI takes 300,000 tokens in one request; fewer cost less to send again. */
const MAX_REQUEST_TOKENS = 100_000;
/** Providers refuse an empty text; a row of a table without text must not fail its neighbours. */
const EMPTY = '(empty)';

export function createRemoteEmbedder(options: RemoteEmbedderOptions): Embedder {
  const { provider } = options;
  const wire = WIRES[provider];
  const { model = wire.model, maxTexts = wire.maxTexts, timeoutMs = TIMEOUT_MS } = options;
  // Shortened vectors of one model cannot be compared with its full ones.
  const id = options.dimensions === undefined ? `${provider}/${model}` : `${provider}/${model}@${options.dimensions}`;
  const ask = batchAsker(wire, { ...options, model, timeoutMs, baseUrl: serverOf(options) }, options.dimensions);
  let dimensions = options.dimensions;

  const embedBatch = async (texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> => {
    const { vectors, tokens } = await ask(texts, signal);
    const estimated = typeof tokens !== 'number';
    const tokensIn = estimated ? texts.reduce((sum, text) => sum + textTokens(text), 0) : tokens;
    options.onUsage?.({ provider, model, tokensIn, estimated });
    if (vectors.length !== texts.length) {
      throw malformedAnswer(provider, `${vectors.length} vectors for ${texts.length} texts`);
    }
    return vectors.map((values) => {
      const vector = toUnitVector(values);
      if (!vector) throw malformedAnswer(provider, 'something that is not a vector');
      dimensions ??= vector.length;
      if (vector.length === dimensions) return vector;
      throw malformedAnswer(provider, `a vector of ${vector.length} numbers where ${dimensions} were expected`);
    });
  };

  return {
    id,
    get dimensions() {
      return dimensions;
    },
    async embed(texts, signal) {
      signal.throwIfAborted();
      const results: Float32Array[] = [];
      try {
        for (const batch of toBatches(texts.map(fitText), maxTexts)) results.push(...(await embedBatch(batch, signal)));
      } catch (error) {
        throw nothingCame('GH2115', `${id} embedded nothing`, error);
      }
      return results;
    },
  };
}

interface RawAnswer {
  readonly vectors: readonly unknown[];
  readonly tokens?: unknown;
}

/** Asks for one batch. A server that knows the older route only is asked by it from then on. */
function batchAsker(wire: EmbeddingWire, endpoint: Endpoint, dimensions: number | undefined) {
  const { provider, model } = endpoint;
  const { keyHeader, older } = wire;
  let isOld = false;

  const request = async (route: Route, texts: readonly string[], signal: AbortSignal): Promise<RawAnswer> => {
    const body = JSON.stringify(route.body(texts, model, dimensions));
    const post = { path: route.path(model), keyHeader, body: () => body, maxAnswerBytes: MAX_ANSWER_BYTES };
    const { vectors, tokens } = route.read(asRecord(await postJson(endpoint, post, signal)));
    if (!Array.isArray(vectors)) throw malformedAnswer(provider, 'no list of vectors');
    return { vectors, tokens };
  };

  return async (texts: readonly string[], signal: AbortSignal): Promise<RawAnswer> => {
    try {
      if (!older || !isOld) return await request(wire, texts, signal);
    } catch (error) {
      if (!older || !isUnknownRoute(error, model)) throw error;
    }
    const vectors: unknown[] = [];
    for (const text of texts) vectors.push(...(await request(older, [text], signal)).vectors);
    isOld = true;
    return { vectors };
  };
}

/** The address of ollama may be given with the `/v1` of its compatible wire, which has no such routes. */
function serverOf({ provider, baseUrl = WIRES[provider].baseUrl }: RemoteEmbedderOptions): string {
  const trimmed = baseUrl.replace(/\/+$/, '');
  return provider === 'ollama' ? trimmed.replace(/\/v1$/, '') : trimmed;
}

/** Throws for an ollama that lacks only the model: `model "x" not found, try pulling it first`. */
function isUnknownRoute(error: unknown, model: string): boolean {
  if (!(error instanceof WireFault) || error.failure.status !== 404) return false;
  if (!/\bmodel\b/i.test(error.failure.message)) return true;
  throw new WireFault({ ...error.failure, hint: `run \`ollama pull ${model}\`` });
}

function geminiName(model: string): string {
  return `models/${model.replace(/^models\//, '')}`;
}

/** Servers that work in parallel number their vectors; servers that leave the number out answer in order. */
function byIndex(data: unknown): unknown {
  if (!Array.isArray(data)) return undefined;
  const items = data.map((item, place) => {
    const { index, embedding } = asRecord(item);
    return { at: typeof index === 'number' ? index : place, embedding };
  });
  return items.sort((a, b) => a.at - b.at).map(({ embedding }) => embedding);
}

function fitText(text: string): string {
  if (text.trim() === '') return EMPTY;
  const tokens = textTokens(text);
  if (tokens <= MAX_TEXT_TOKENS) return text.toWellFormed();
  return text.slice(0, Math.floor((text.length * MAX_TEXT_TOKENS) / tokens)).toWellFormed();
}

function toBatches(texts: readonly string[], maxTexts: number): string[][] {
  const batches: string[][] = [];
  let tokens = 0;
  for (const text of texts) {
    const more = textTokens(text);
    const last = batches.at(-1);
    if (last && last.length < maxTexts && tokens + more <= MAX_REQUEST_TOKENS) {
      last.push(text);
      tokens += more;
    } else {
      batches.push([text]);
      tokens = more;
    }
  }
  return batches;
}
