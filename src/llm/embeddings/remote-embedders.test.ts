/**
 * The wires of the embedders, against an emulator that is not ours; a route that it lacks is mounted on it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { LLMock } from '@copilotkit/aimock';
import { expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { FakeClock } from '../../testing/fakes.ts';
import { embedderContract } from './contract.ts';
import { createEmbedder, type EmbedderOptions } from './create-embedder.ts';
import type { EmbeddingUsage } from './remote-embedder.ts';

const signal = new AbortController().signal;

interface Seen {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Readonly<Record<string, unknown>>;
}

type Answer = { readonly status?: number; readonly headers?: Record<string, string>; readonly body: unknown };

/** A deterministic direction per text, of a length that is not 1. */
function values(text: string): number[] {
  return Array.from({ length: 8 }, (_, n) => 3 * Math.sin(text.length * (n + 1) + text.charCodeAt(n % Math.max(1, text.length))));
}

async function emulator(routes: Readonly<Record<string, (seen: Seen, index: number) => Answer>> = {}) {
  const mock = new LLMock({ port: 0, logLevel: 'silent' });
  const seen: Seen[] = [];
  for (const [path, answer] of Object.entries(routes)) {
    mock.mount(path, {
      async handleRequest(request: IncomingMessage, response: ServerResponse) {
        const entry = { path, headers: request.headers, body: (await json(request)) as Seen['body'] };
        seen.push(entry);
        const { status = 200, headers = {}, body } = answer(entry, seen.length - 1);
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(typeof body === 'string' ? body : JSON.stringify(body));
        return true;
      },
    });
  }
  await mock.start();
  const usage: EmbeddingUsage[] = [];
  const embedder = (options: Pick<EmbedderOptions, 'provider'> & Partial<EmbedderOptions>) =>
    createEmbedder({
      packagesDir: '/nowhere',
      clock: systemClock,
      random: () => 0,
      onUsage: (entry) => usage.push(entry),
      ...options,
      baseUrl: mock.url + (options.baseUrl ?? ''),
    });
  return { mock, seen, usage, embedder, [Symbol.asyncDispose]: () => mock.stop() };
}

const GEMINI_PATH = '/v1beta/models/gemini-embedding-001:batchEmbedContents';

function gemini({ body }: Seen): Answer {
  const requests = body['requests'] as { content: { parts: { text: string }[] } }[];
  return { body: { embeddings: requests.map(({ content }) => ({ values: values(content.parts[0]?.text ?? '') })) } };
}

function ollama({ body }: Seen): Answer {
  return { body: { model: body['model'], embeddings: (body['input'] as string[]).map(values), prompt_eval_count: 7 } };
}

function openai({ body }: Seen): Answer {
  const data = (body['input'] as string[]).map((text, index) => ({ object: 'embedding', index, embedding: values(text) }));
  return { body: { data: data.reverse(), usage: { prompt_tokens: 5, total_tokens: 5 } } };
}

embedderContract('openai, the emulator', async () => {
  const scene = await emulator();
  return {
    embedder: scene.embedder({ provider: 'openai', baseUrl: '/v1', apiKey: 'sk' }),
    [Symbol.asyncDispose]: scene[Symbol.asyncDispose],
  };
});

embedderContract('openai, answers out of order', async () => {
  const scene = await emulator({ '/v1/embeddings': openai });
  return { embedder: scene.embedder({ provider: 'openai', baseUrl: '/v1' }), [Symbol.asyncDispose]: scene[Symbol.asyncDispose] };
});

embedderContract('gemini', async () => {
  const scene = await emulator({ [GEMINI_PATH]: gemini });
  return {
    embedder: scene.embedder({ provider: 'gemini', baseUrl: '/v1beta' }),
    [Symbol.asyncDispose]: scene[Symbol.asyncDispose],
  };
});

embedderContract('ollama', async () => {
  const scene = await emulator({ '/api/embed': ollama });
  return { embedder: scene.embedder({ provider: 'ollama' }), [Symbol.asyncDispose]: scene[Symbol.asyncDispose] };
});

embedderContract('ollama before 0.3', async () => {
  const scene = await emulator({
    '/api/embed': () => ({ status: 404, headers: { 'content-type': 'text/plain' }, body: '404 page not found' }),
    '/api/embeddings': ({ body }) => ({ body: { embedding: values(String(body['prompt'])) } }),
  });
  return { embedder: scene.embedder({ provider: 'ollama', baseUrl: '/v1' }), [Symbol.asyncDispose]: scene[Symbol.asyncDispose] };
});

test('an old ollama is asked for the new route once only', async () => {
  await using scene = await emulator({
    '/api/embed': () => ({ status: 404, body: '404 page not found' }),
    '/api/embeddings': ({ body }) => ({ body: { embedding: values(String(body['prompt'])) } }),
  });
  const embedder = scene.embedder({ provider: 'ollama' });
  await embedder.embed(['a', 'b'], signal);
  await embedder.embed(['c'], signal);
  expect(scene.seen.map(({ path }) => path)).toEqual(['/api/embed', ...Array<string>(3).fill('/api/embeddings')]);
});

test('a model that ollama lacks is named with the command that fetches it, and the old route is left alone', async () => {
  await using scene = await emulator({
    '/api/embed': () => ({ status: 404, body: { error: 'model "nomic-embed-text" not found, try pulling it first' } }),
  });
  const failed = scene.embedder({ provider: 'ollama' }).embed(['a'], signal);
  await expect(failed).rejects.toMatchObject({ code: 'GH2115', hint: 'run `ollama pull nomic-embed-text`' });
  expect(scene.seen).toHaveLength(1);
});

test('many texts go out in batches of what the provider takes, and come back in order', async () => {
  await using scene = await emulator({ [GEMINI_PATH]: gemini, '/v1/embeddings': openai });
  const texts = Array.from({ length: 230 }, (_, n) => `text number ${n}`);
  const vectors = await scene.embedder({ provider: 'gemini', baseUrl: '/v1beta' }).embed(texts, signal);
  expect(scene.seen.map(({ body }) => (body['requests'] as unknown[]).length)).toEqual([100, 100, 30]);
  const [last] = await scene.embedder({ provider: 'gemini', baseUrl: '/v1beta' }).embed(['text number 229'], signal);
  expect(vectors.at(-1)).toEqual(last);
  const few = scene.embedder({ provider: 'openai', baseUrl: '/v1', maxTexts: 10 });
  expect(await few.embed(texts.slice(0, 21), signal)).toHaveLength(21);
  expect(scene.seen.slice(4).map(({ body }) => (body['input'] as unknown[]).length)).toEqual([10, 10, 1]);
  const long = Array.from({ length: 40 }, () => 'word '.repeat(6_000));
  await scene.embedder({ provider: 'openai', baseUrl: '/v1' }).embed(long, signal);
  const sizes = scene.seen.slice(7).map(({ body }) => JSON.stringify(body).length);
  expect(sizes.length).toBeGreaterThan(1);
  expect(Math.max(...sizes)).toBeLessThan(450_000);
});

test('each request reports what it took: as told by the server, else estimated', async () => {
  await using scene = await emulator({ '/v1/embeddings': openai, [GEMINI_PATH]: gemini, '/api/embed': ollama });
  await scene.embedder({ provider: 'openai', baseUrl: '/v1' }).embed(['four words of text'], signal);
  await scene.embedder({ provider: 'gemini', baseUrl: '/v1beta' }).embed(['four words of text'], signal);
  await scene.embedder({ provider: 'ollama' }).embed(['four words of text'], signal);
  expect(scene.usage).toEqual([
    { provider: 'openai', model: 'text-embedding-3-small', tokensIn: 5, estimated: false },
    { provider: 'gemini', model: 'gemini-embedding-001', tokensIn: 5, estimated: true },
    { provider: 'ollama', model: 'nomic-embed-text', tokensIn: 7, estimated: false },
  ]);
});

test('A29 the key goes into the header of its provider and nowhere else', async () => {
  await using scene = await emulator({ '/v1/embeddings': openai, [GEMINI_PATH]: gemini });
  for (const [provider, baseUrl] of [
    ['openai', '/v1'],
    ['gemini', '/v1beta'],
  ] as const) {
    await scene.embedder({ provider, baseUrl, apiKey: 'canary-key' }).embed(['x'], signal);
  }
  const [first, second] = scene.seen.map(({ headers }) => headers);
  expect([first?.authorization, second?.['x-goog-api-key']]).toEqual(['Bearer canary-key', 'canary-key']);
  expect(second?.authorization).toBeUndefined();
});

test('shortened vectors are asked for, and are another id than full ones', async () => {
  await using scene = await emulator({ '/v1/embeddings': openai, [GEMINI_PATH]: gemini });
  const embedder = scene.embedder({ provider: 'openai', baseUrl: '/v1', dimensions: 8 });
  await embedder.embed(['x'], signal);
  expect(embedder).toMatchObject({ id: 'openai/text-embedding-3-small@8', dimensions: 8 });
  expect(scene.seen[0]?.body).toMatchObject({ dimensions: 8, encoding_format: 'float' });
  const wrong = scene.embedder({ provider: 'gemini', baseUrl: '/v1beta', dimensions: 16 }).embed(['x'], signal);
  await expect(wrong).rejects.toMatchObject({ code: 'GH2115', cause: { failure: { kind: 'malformed' } } });
});

test.each([
  ['fewer vectors than texts', { data: [] }],
  ['a vector of nothing', { data: [{ embedding: [] }] }],
  ['a vector without direction', { data: [{ embedding: [0, 0, 0] }] }],
  ['NaN, which JSON has as null', { data: [{ embedding: [1, null] }] }],
  ['a number beyond all numbers', '{"data":[{"embedding":[1e999]}]}'],
  ['no list', { data: 'x' }],
  ['null', null],
])('F28 %s in a good answer is malformed, and is not asked for again', async (_name, body) => {
  await using scene = await emulator({ '/v1/embeddings': () => ({ body }) });
  const failed = scene.embedder({ provider: 'openai', baseUrl: '/v1' }).embed(['x'], signal);
  await expect(failed).rejects.toMatchObject({ code: 'GH2115', cause: { failure: { kind: 'malformed' } } });
  expect(scene.seen).toHaveLength(1);
});

test('F25 a server that recovers is asked again after a wait, and only what failed is', async () => {
  const clock = new FakeClock();
  await using scene = await emulator({
    [GEMINI_PATH]: (seen, index) =>
      index === 1 ? { status: 503, body: { error: { code: 503, message: 'overloaded' } } } : gemini(seen),
  });
  const texts = Array.from({ length: 101 }, (_, n) => `text ${n}`);
  const work = scene.embedder({ provider: 'gemini', baseUrl: '/v1beta', clock }).embed(texts, signal);
  const ticking = setInterval(() => void clock.advance(500), 5);
  expect(await work).toHaveLength(101);
  clearInterval(ticking);
  expect(scene.seen.map(({ body }) => (body['requests'] as unknown[]).length)).toEqual([100, 1, 1]);
});
