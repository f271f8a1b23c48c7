/** The OpenAI embeddings wire, which most compatible servers speak too. */
import type { Embedder } from '../../core/media-models.ts';
import { type Endpoint, malformedAnswer, postJson } from '../post-json.ts';
import { asRecord } from '../protocols/tool-call-assembly.ts';
import { createRemoteEmbedder, type RemoteEmbedderOptions } from './remote-embedder.ts';

/** OpenAI takes 2,048 texts; above this a request gains nothing and a failed one costs more to repeat. */
const MAX_TEXTS = 100;
/** 100 vectors of 4,096 numbers of 25 characters are 10 MB. */
const MAX_ANSWER_BYTES = 16_000_000;

/** `baseUrl` holds the version segment: `https://api.openai.com/v1`. */
export interface OpenAiEmbedderOptions extends Endpoint, RemoteEmbedderOptions {
  /** Most texts of one request, for servers that take fewer than 100 (DashScope: 10). */
  readonly maxTexts?: number;
}

export function createOpenAiEmbedder(options: OpenAiEmbedderOptions): Embedder {
  const { provider, model, dimensions, apiKey } = options;
  return createRemoteEmbedder(options, {
    maxTexts: options.maxTexts ?? MAX_TEXTS,
    async embed(texts, signal) {
      const answer = await postJson(
        options,
        {
          path: '/embeddings',
          headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
          body: () =>
            JSON.stringify({
              model,
              input: texts,
              encoding_format: 'float',
              ...(dimensions === undefined ? {} : { dimensions }),
            }),
          maxAnswerBytes: MAX_ANSWER_BYTES,
        },
        signal,
      );
      const { data, usage } = asRecord(answer);
      if (!Array.isArray(data)) throw malformedAnswer(provider, 'no list of vectors');
      const { prompt_tokens: tokens } = asRecord(usage);
      return { vectors: inOrder(data), tokensIn: typeof tokens === 'number' ? tokens : undefined };
    },
  });
}

/** By `index`, which servers that work in parallel need; servers that leave it out answer in order. */
function inOrder(data: readonly unknown[]): readonly unknown[] {
  const items = data.map((item, place) => {
    const { index, embedding } = asRecord(item);
    return { at: typeof index === 'number' ? index : place, embedding };
  });
  return items.sort((a, b) => a.at - b.at).map(({ embedding }) => embedding);
}
