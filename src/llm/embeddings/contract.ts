import { expect, test } from 'vitest';
import type { Embedder } from '../../core/media-models.ts';

export interface EmbedderSubject extends AsyncDisposable {
  readonly embedder: Embedder;
}

const signal = new AbortController().signal;

/** What every `Embedder` promises, whatever is behind it. */
export function embedderContract(name: string, create: () => Promise<EmbedderSubject>): void {
  test(`${name}: one vector of length 1 per text, in the order of the texts, also of an empty one and of a very long one`, async () => {
    await using subject = await create();
    const texts = ['a cat sat', '', 'trains to Rome', 'a cat sat', 'word '.repeat(20_000), 'lone \ud800 half'];
    const vectors = await subject.embedder.embed(texts, signal);
    expect(vectors).toHaveLength(texts.length);
    for (const vector of vectors) {
      expect(vector).toBeInstanceOf(Float32Array);
      expect(vector).toHaveLength(subject.embedder.dimensions ?? 0);
      expect(Math.hypot(...vector)).toBeCloseTo(1, 4);
    }
    expect(vectors[3]).toEqual(vectors[0]);
    expect(vectors[2]).not.toEqual(vectors[0]);
    const [alone] = await subject.embedder.embed(['trains to Rome'], signal);
    expect(cosine(alone, vectors[2])).toBeCloseTo(1, 4);
  });

  test(`${name}: nothing in, nothing out`, async () => {
    await using subject = await create();
    expect(await subject.embedder.embed([], signal)).toEqual([]);
  });

  test(`${name}: rejects with the reason when it was aborted before`, async () => {
    await using subject = await create();
    const reason = new Error('enough');
    await expect(subject.embedder.embed(['x'], AbortSignal.abort(reason))).rejects.toBe(reason);
  });
}

/** Of vectors of length 1. */
export function cosine(a: Float32Array | undefined, b: Float32Array | undefined): number {
  return (a ?? new Float32Array()).reduce((sum, value, index) => sum + value * (b?.[index] ?? 0), 0);
}
