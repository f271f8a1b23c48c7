/** Gemini's `batchEmbedContents` (https://ai.google.dev/api/embeddings). */
import type { Embedder } from '../../core/media-models.ts';
import { type Endpoint, malformedAnswer, postJson } from '../post-json.ts';
import { asRecord } from '../protocols/tool-call-assembly.ts';
import { createRemoteEmbedder, type RemoteEmbedderOptions } from './remote-embedder.ts';

/** "At most 100 requests can be in one batch." */
const MAX_TEXTS = 100;
/** 100 vectors of 3,072 numbers of 25 characters are 7.7 MB. */
const MAX_ANSWER_BYTES = 16_000_000;

/** `baseUrl` holds the version: `https://generativelanguage.googleapis.com/v1beta`. */
export function createGeminiEmbedder(options: Endpoint & RemoteEmbedderOptions): Embedder {
  const { provider, dimensions, apiKey } = options;
  const model = `models/${options.model.replace(/^models\//, '')}`;
  return createRemoteEmbedder(options, {
    maxTexts: MAX_TEXTS,
    async embed(texts, signal) {
      const requests = texts.map((text) => ({
        model,
        content: { parts: [{ text }] },
        ...(dimensions === undefined ? {} : { outputDimensionality: dimensions }),
      }));
      const answer = await postJson(
        options,
        {
          path: `/${model}:batchEmbedContents`,
          // In a header and not in the URL, where it would end up in logs of proxies.
          headers: apiKey === undefined ? {} : { 'x-goog-api-key': apiKey },
          body: () => JSON.stringify({ requests }),
          maxAnswerBytes: MAX_ANSWER_BYTES,
        },
        signal,
      );
      const { embeddings, usageMetadata } = asRecord(answer);
      if (!Array.isArray(embeddings)) throw malformedAnswer(provider, 'no list of vectors');
      const { promptTokenCount: tokens } = asRecord(usageMetadata);
      return {
        vectors: embeddings.map((item) => asRecord(item)['values']),
        tokensIn: typeof tokens === 'number' ? tokens : undefined,
      };
    },
  });
}
