/** Attack A29 at the wires: servers throw back what they were sent, in each spelling at each place. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Transcriber } from '../core/media-models.ts';
import type { ModelEvent } from '../core/model.ts';
import { systemClock } from '../lib/clock.ts';
import { findCanaries, plantCanaries, spellings } from '../testing/canaries.ts';
import { MemoryLogger, tempDir } from '../testing/fakes.ts';
import { jsonReply, type ModelServer, type Reply, sse, startModelServer, stream } from '../testing/model-server.ts';
import { SteadyClock } from '../testing/steady-clock.ts';
import { collect, modelRequest } from './contract.ts';
import { createRemoteEmbedder, type RemoteProvider } from './embeddings/remote-embedder.ts';
import { failureText } from './failure-text.ts';
import type { Endpoint } from './post-json.ts';
import { anthropicSubject } from './protocols/anthropic-contract.ts';
import { geminiSubject } from './protocols/gemini-contract.ts';
import { openAiChatSubject } from './protocols/openai-chat-contract.ts';
import { openAiResponsesSubject } from './protocols/openai-responses-contract.ts';
import { type RawWire, wireOptions } from './protocols/wire-contract.ts';
import { withRetry } from './retry.ts';
import { createOpenAiTranscriber } from './transcription/openai-transcriber.ts';

/** Where client libraries look for keys of their own accord, and two that have nothing to do with models. */
const ENVIRONMENT = [
  'OPENAI_API_KEY',
  'OPENAI_ADMIN_KEY',
  'OPENAI_ORG_ID',
  'OPENAI_PROJECT_ID',
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'GEMINI_API_KEY',
  'GOOGLE_API_KEY',
  'GITHUB_TOKEN',
] as const;
/** The key of the wire, a parameter in its base URL, and a password there. */
const canaries = plantCanaries([...ENVIRONMENT, 'KEY', 'PARAMETER', 'PASSWORD']);
const secrets = Object.values(canaries);
const foreign = ENVIRONMENT.map((name) => canaries[name]);
const STATUSES = [400, 401, 403, 429, 500];

/** What came out of a call, and what was thrown at it. */
interface Told {
  readonly place: string;
  readonly text: string;
}

const leaks = (told: readonly Told[]): string[] =>
  told.flatMap(({ place, text }) => findCanaries(text, secrets).map((found) => `${place}: ${found}`));

let server: ModelServer;
let reply: Reply;
const printed: unknown[] = [];

beforeAll(async () => {
  server = await startModelServer({ script: () => reply });
  for (const name of ENVIRONMENT) vi.stubEnv(name, canaries[name]);
  for (const method of ['debug', 'error', 'info', 'log', 'warn'] as const) {
    vi.spyOn(console, method).mockImplementation((...args) => void printed.push(args));
  }
});
afterEach(() => {
  expect(leaks([{ place: 'console', text: inspect(printed, { depth: 9 }) }])).toEqual([]);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await server[Symbol.asyncDispose]();
});

/** Headers hold neither line ends nor characters above Latin 1. */
function inHeader(spelled: string): string {
  return spelled.replace(/\s+/g, ' ').replaceAll('…', '...');
}

/** Refusals with the secret in the reason, in headers, in each member of an error, in a body of no JSON. */
function* refusals(spelled: string): Generator<[place: string, reply: Reply]> {
  const said = inHeader(spelled);
  const headers = { 'x-request-id': said, 'www-authenticate': `Bearer realm="${said}"`, 'retry-after': said, 'set-cookie': said };
  const error = { message: `refused: ${spelled}`, type: spelled, code: spelled, status: spelled, param: spelled };
  for (const status of STATUSES) {
    const json = { 'content-type': 'application/json', ...headers };
    yield [`${status} error`, { status, reason: said, headers: json, pieces: [JSON.stringify({ error })] }];
  }
  for (const status of [400, 500])
    yield [`${status} text`, { status, reason: said, headers, pieces: [`<html>${spelled}</html>`] }];
  const noMessage = JSON.stringify({ error: { details: [{ spelled }] } });
  yield ['400 without a message', { status: 400, headers: { 'content-type': 'application/json' }, pieces: [noMessage] }];
  yield ['redirect', { status: 307, headers: { location: `/${encodeURIComponent(spelled)}`, ...headers }, pieces: [spelled] }];
  yield ['200 web page', { headers: { 'content-type': 'text/html' }, pieces: [spelled] }];
  yield ['200 broken JSON', { headers: { 'content-type': 'application/json' }, pieces: [`{"${spelled}`] }];
}

/** Streams that go wrong with the secret in the error, in a broken chunk, and in words failures quote. */
function* brokenStreams(raw: RawWire, spelled: string): Generator<[place: string, reply: Reply]> {
  const begun = [raw.open, raw.text('par', 0)];
  const member = JSON.stringify(spelled);
  yield ['error in the stream', stream([...begun, raw.overloaded(spelled)])];
  yield [
    'error of any kind',
    stream([...begun, sse({ error: spelled }), `event: error\n${sse({ type: 'error', error: spelled })}`]),
  ];
  yield ['broken chunk', stream([...begun, `data: {${member}: \n\n`])];
  yield [
    'reason of an empty answer',
    stream([raw.open + raw.close(false).replace(/"(?:stop|STOP|end_turn|completed)"/g, member)]),
  ];
  yield ['reason of a refusal', stream([raw.open, sse({ promptFeedback: { blockReason: spelled }, candidates: [] })])];
  yield ['cut', stream([...begun, `: ${spelled.replace(/\s+/g, ' ')}`], { end: 'destroy' })];
}

/**
 * Each secret that a server is sent, in each of its spellings: the key at all places, the parameter where
 * words are passed on. The plain spelling stands at every place. Each other spelling stands at every fourth,
 * and its neighbour at a different fourth: what finds a spelling does not look at the place, nor the other
 * way round.
 */
function* thrownBack(places: (spelled: string) => readonly [place: string, reply: Reply][]): Generator<[string, Reply]> {
  for (const name of ['KEY', 'PARAMETER'] as const) {
    for (const [index, spelled] of spellings(canaries[name]).entries()) {
      const some = places(spelled)
        .filter((_place, at) => index === 0 || (at + index) % 4 === 0)
        .filter(([place]) => name === 'KEY' || /^(?:400|error)/.test(place));
      for (const [place, next] of some) yield [`${name} as spelling ${index}, ${place}`, next];
    }
  }
}

const address = (origin: string): string => `${origin}?parameter=${canaries.PARAMETER}`;
const withPassword = (): string => server.url.replace('//', `//user:${encodeURIComponent(canaries.PASSWORD)}@`);

/** What belongs to somebody else was not sent, and what belongs to the server went one way only. */
function expectSentOnce(from: number): void {
  const requests = server.requests.slice(from);
  expect(requests.length).toBeGreaterThan(40);
  expect(findCanaries(JSON.stringify(requests), foreign)).toEqual([]);
  for (const { path, headers, body } of requests) {
    expect(findCanaries(JSON.stringify([path, body]), [canaries.KEY])).toEqual([]);
    expect(findCanaries(JSON.stringify([headers, body]), [canaries.PARAMETER])).toEqual([]);
    expect(Object.values(headers).filter((value) => String(value).includes(canaries.KEY))).toHaveLength(1);
  }
}

describe.each([openAiChatSubject, openAiResponsesSubject, anthropicSubject, geminiSubject])('$name', (subject) => {
  const logger = new MemoryLogger();
  const call = async (origin: string, maxRetries: number): Promise<readonly ModelEvent[]> => {
    const wire = subject.create(wireOptions(origin, { model: subject.model, apiKey: canaries.KEY }));
    const onRetry = (info: object): void => logger.warn('model.retry', { ...info });
    // A wait that the server asks for is not waited.
    const retried = withRetry(wire, { clock: systemClock, random: () => 0, maxRetries, baseMs: 0, maxWaitMs: 1, onRetry });
    const events = await collect(retried.call(modelRequest('hi'), new AbortController().signal));
    for (const event of events) if (event.type === 'failed') logger.warn('model.failed', { ...event.failure });
    return events;
  };
  const told = async (place: string, origin: string): Promise<Told> => {
    // What is told of a retry is logged as well.
    const events = await call(origin, place.endsWith('error in the stream') ? 1 : 0);
    const last = events.at(-1);
    const said = last?.type === 'failed' ? failureText(last.failure) : '';
    return { place, text: JSON.stringify(events) + said };
  };

  test('A29 a secret thrown back in any spelling, at any place, is in no event, failure, log line or message', async () => {
    const from = server.requests.length;
    const all: Told[] = [];
    for (const [place, next] of thrownBack((spelled) => [...refusals(spelled), ...brokenStreams(subject.raw, spelled)])) {
      reply = next;
      all.push(await told(place, address(server.url)));
    }
    expect(leaks(all)).toEqual([]);
    expect(leaks([{ place: 'log', text: JSON.stringify(logger.lines) }])).toEqual([]);
    expect(logger.lines.length).toBeGreaterThan(all.length);
    // The search can find: every call failed, and in words of the server where they are passed on.
    expect(all.filter(({ text }) => text.includes('"failed"'))).toHaveLength(all.length);
    expect(all.filter(({ text }) => text.includes('[redacted]')).length).toBeGreaterThan(40);
    expectSentOnce(from);
  });

  test('A29 a password in the base URL, which no request can carry, is not told', async () => {
    const from = server.requests.length;
    expect(leaks([await told('password', withPassword())])).toEqual([]);
    expect(server.requests.slice(from)).toEqual([]);
  });
});

/** The last argument is the endpoint, whose base URL holds the parameter or the password. */
const endpoint = (baseUrl: string): Endpoint => ({
  ...{ provider: 'test', model: 'test-1', baseUrl, apiKey: canaries.KEY, clock: new SteadyClock(), random: () => 1 },
  // Less than the first wait: no call is sent again.
  timeoutMs: 900,
});
const inAnswer = (spelled: string): Reply => jsonReply({ error: { message: spelled, code: spelled } });
const embed = (provider: RemoteProvider) => (options: Endpoint, signal: AbortSignal) =>
  createRemoteEmbedder({ ...options, provider }).embed(['hi'], signal);

describe.each([
  ['embeddings openai', embed('openai')],
  ['embeddings gemini', embed('gemini')],
  ['embeddings ollama', embed('ollama')],
  ['transcription openai', transcribe(createOpenAiTranscriber)],
] as const)('%s', (_name, ask) => {
  const told = async (place: string, origin: string): Promise<Told> => {
    const error: unknown = await ask(endpoint(origin), new AbortController().signal).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(Error);
    // With stack, own fields, and all causes.
    return { place, text: inspect(error, { depth: 20, breakLength: Number.POSITIVE_INFINITY, showHidden: true }) };
  };

  test('A29 a secret thrown back in any spelling, at any place, is in no error, nor in its causes', async () => {
    const from = server.requests.length;
    const all: Told[] = [];
    for (const [place, next] of thrownBack((spelled) => [...refusals(spelled), ['error in an answer', inAnswer(spelled)]])) {
      reply = next;
      all.push(await told(place, address(server.url)));
    }
    expect(leaks(all)).toEqual([]);
    expect(all.filter(({ text }) => text.includes('[redacted]')).length).toBeGreaterThan(40);
    expectSentOnce(from);
  });

  test('A29 a password in the base URL, which no request can carry, is not told', async () => {
    const from = server.requests.length;
    expect(leaks([await told('password', withPassword())])).toEqual([]);
    expect(server.requests.slice(from)).toEqual([]);
  });
});

function transcribe(create: (options: Endpoint) => Transcriber) {
  return async (options: Endpoint, signal: AbortSignal): Promise<string> => {
    await using dir = await tempDir();
    const path = join(dir.path, 'a.oga');
    const bytes = Buffer.from('OggS\0\x02 and sound');
    await writeFile(path, bytes);
    return await create(options).transcribe({ path, mime: 'audio/ogg', bytes: bytes.byteLength }, signal);
  };
}
