// texts -> batches -> one wire's requests -> checked, normalised vectors in the order of the texts
import { GatehouseError } from '../../core/errors.ts';
import type { Embedder } from '../../core/media-models.ts';
import { toUnitVector } from '../../lib/unit-vector.ts';
import { malformedAnswer } from '../post-json.ts';
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

/** One provider's way to ask. */
export interface EmbeddingWire {
  /** Most texts of one request. */
  readonly maxTexts: number;
  /** One vector per text, in order, not yet checked. Rejects with a `WireFault` or `signal.reason`. */
  embed(
    texts: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly vectors: readonly unknown[]; readonly tokensIn: number | undefined }>;
}

export interface RemoteEmbedderOptions {
  readonly provider: string;
  readonly model: string;
  /** Ask for vectors of this length. Default: the model's own. */
  readonly dimensions?: number;
  /** Called once per request that was answered, before its vectors are used; must not throw. */
  readonly onUsage?: (usage: EmbeddingUsage) => void;
}

/**
 * Estimated tokens of one text: OpenAI refuses inputs above 8,192 tokens, and the estimate runs up to a third low on code and
 * numbers. What comes after is cut off: a text this long is to be split by its owner.
 */
const MAX_TEXT_TOKENS = 6_000;
/** OpenAI takes at most 300,000 tokens in one request; this also bounds what a failed request costs to repeat. */
const MAX_REQUEST_TOKENS = 100_000;
/** Providers refuse an empty text; a row of a table without text must not fail its neighbours. */
const EMPTY = '(empty)';

export function createRemoteEmbedder(options: RemoteEmbedderOptions, wire: EmbeddingWire): Embedder {
  const { provider, model } = options;
  // Shortened vectors of one model cannot be compared with its full ones.
  const id = options.dimensions === undefined ? `${provider}/${model}` : `${provider}/${model}@${options.dimensions}`;
  let dimensions = options.dimensions;

  const embedBatch = async (texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> => {
    const { vectors, tokensIn } = await wire.embed(texts, signal);
    const estimate = (): number => texts.reduce((sum, text) => sum + textTokens(text), 0);
    options.onUsage?.({ provider, model, tokensIn: tokensIn ?? estimate(), estimated: tokensIn === undefined });
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
        for (const batch of toBatches(texts.map(fitText), wire.maxTexts)) results.push(...(await embedBatch(batch, signal)));
      } catch (error) {
        throw error instanceof WireFault ? embeddingError(id, error) : error;
      }
      return results;
    },
  };
}

/** The kind of failure stays readable in `cause.failure`. */
function embeddingError(id: string, fault: WireFault): GatehouseError {
  return new GatehouseError('GH2115', `${id} embedded nothing (${fault.failure.code})`, {
    hint: fault.failure.hint,
    cause: fault,
  });
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
