/** Ollama's own embedding routes (https://github.com/ollama/ollama/blob/main/docs/api.md). */
import type { Embedder } from '../../core/media-models.ts';
import { type Endpoint, malformedAnswer, postJson } from '../post-json.ts';
import { asRecord } from '../protocols/tool-call-assembly.ts';
import { WireFault } from '../protocols/wire-guard.ts';
import { createRemoteEmbedder, type EmbeddingWire, type RemoteEmbedderOptions } from './remote-embedder.ts';

/** One request holds the server's only slot: others get their turn in between. */
const MAX_TEXTS = 32;
const MAX_ANSWER_BYTES = 16_000_000;

/** `baseUrl` is the server's address, with or without the `/v1` of its compatible wire. Nothing is paid for, so tokens are for the record. */
export function createOllamaEmbedder(given: Endpoint & RemoteEmbedderOptions): Embedder {
  const endpoint = { ...given, baseUrl: given.baseUrl.replace(/\/v1$/, '') };
  return createRemoteEmbedder(given, ollamaWire(endpoint));
}

function ollamaWire(endpoint: Endpoint): EmbeddingWire {
  const { provider, model, apiKey } = endpoint;
  const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  /** Servers before 0.3 know the older route only, which takes one text. */
  let isOld = false;

  const post = (path: string, body: object, signal: AbortSignal): Promise<unknown> =>
    postJson(endpoint, { path, headers, body: () => JSON.stringify(body), maxAnswerBytes: MAX_ANSWER_BYTES }, signal);

  const embedSingly = async (texts: readonly string[], signal: AbortSignal) => {
    const vectors: unknown[] = [];
    for (const prompt of texts) vectors.push(asRecord(await post('/api/embeddings', { model, prompt }, signal))['embedding']);
    return { vectors, tokensIn: undefined };
  };

  return {
    maxTexts: MAX_TEXTS,
    async embed(texts, signal) {
      if (isOld) return await embedSingly(texts, signal);
      try {
        const answer = asRecord(await post('/api/embed', { model, input: texts, truncate: true }, signal));
        const { embeddings, prompt_eval_count: tokens } = answer;
        if (!Array.isArray(embeddings)) throw malformedAnswer(provider, 'no list of vectors');
        return { vectors: embeddings, tokensIn: typeof tokens === 'number' ? tokens : undefined };
      } catch (error) {
        if (!(error instanceof WireFault) || error.failure.status !== 404) throw error;
        // A server that knows the route names the model that it misses: `model "x" not found, try pulling it first`.
        if (/\bmodel\b/i.test(error.failure.message)) throw missingModel(error, model);
        const result = await embedSingly(texts, signal);
        isOld = true;
        return result;
      }
    },
  };
}

function missingModel({ failure }: WireFault, model: string): WireFault {
  return new WireFault({ ...failure, hint: `run \`ollama pull ${model}\`` });
}
