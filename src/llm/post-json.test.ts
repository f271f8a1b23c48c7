import { expect, test } from 'vitest';
import type { FailureKind } from '../core/model.ts';
import { systemClock } from '../lib/clock.ts';
import { FakeClock, until } from '../testing/fakes.ts';
import { errorReply, jsonReply, type ModelServerOptions, type Reply, startModelServer } from '../testing/model-server.ts';
import { SteadyClock } from '../testing/steady-clock.ts';
import { type Endpoint, type PostRequest, postJson } from './post-json.ts';

const KEY = 'canary-5f2c81d0';
const signal = new AbortController().signal;

async function scene(script: ModelServerOptions['script'], override: Partial<Endpoint> = {}) {
  const server = await startModelServer(script ? { script } : {});
  const endpoint: Endpoint = {
    ...{ provider: 'acme', model: 'm', baseUrl: `${server.url}/v1`, apiKey: KEY },
    ...{ timeoutMs: 60_000, clock: systemClock, random: () => 0, ...override },
  };
  const post = (until = signal, request: Partial<PostRequest> = {}) =>
    postJson(endpoint, { path: '/x', body: () => '{"a":1}', maxAnswerBytes: 1_000, ...request }, until);
  return { server, post, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

function text(body: string, override: Partial<Reply> = {}): Reply {
  return { headers: { 'content-type': 'application/json' }, pieces: [body], ...override };
}

test('the JSON of a good answer comes back, and only headers of ours go out', async () => {
  await using at = await scene(() => jsonReply({ ok: [1] }));
  expect(await at.post()).toEqual({ ok: [1] });
  const [request] = at.server.requests;
  expect(request).toMatchObject({ method: 'POST', path: '/v1/x', body: { a: 1 } });
  expect(request?.headers).toMatchObject({ 'user-agent': 'gatehouse', authorization: `Bearer ${KEY}` });
  expect(Object.keys(request?.headers ?? {}).filter((name) => /stainless|openai|cookie|referer/.test(name))).toEqual([]);
});

const html = (pieces: string[]): Reply => ({ headers: { 'content-type': 'text/html' }, pieces });

test.each<[string, Reply, FailureKind]>([
  ['F26 a refused key', errorReply(401, { message: `Incorrect API key provided: ${KEY}` }), 'auth'],
  ['a bad request', errorReply(400, { message: 'no' }), 'bad-request'],
  ['an unpaid account', errorReply(402, { message: 'no' }), 'payment'],
  ['an unknown model', errorReply(404, { message: 'no such model' }), 'model-gone'],
  ['a redirect, which is not followed', { status: 307, headers: { location: 'http://127.0.0.1:1/' }, pieces: [] }, 'bad-request'],
  ['a web page', html(['<html>']), 'bad-request'],
  ['an error with status 200', jsonReply({ error: { message: 'invalid_api_key', type: 'authentication_error' } }), 'auth'],
  ['F28 an answer above the cap', text(JSON.stringify('x'.repeat(2_000))), 'malformed'],
])('%s fails at once', async (_name, reply, kind) => {
  await using at = await scene(() => reply);
  await expect(at.post()).rejects.toMatchObject({ failure: { kind } });
  expect(at.server.requests).toHaveLength(1);
});

test.each<[string, Reply, FailureKind]>([
  ['F25 a server error', errorReply(500, { message: 'no' }), 'server'],
  ['F25 an overloaded server', errorReply(529, { message: 'no' }), 'overloaded'],
  ['F28 an answer that is no JSON', text('{"data":'), 'malformed'],
  ['F28 an answer that breaks off', text('{"data":', { end: 'destroy', headers: { 'content-length': '100' } }), 'malformed'],
])('%s is tried four times in all', async (_name, reply, kind) => {
  const clock = new FakeClock();
  await using at = await scene(() => reply, { clock });
  const work = at.post().catch((error: unknown) => error);
  for (let n = 1; n <= 4; n += 1) {
    await until(`try ${n}`, () => at.server.requests.length === n);
    // The time limit of the whole is one sleep, the wait before the next try the other.
    if (n < 4) await until('it waits', () => clock.sleeping === 2);
    await clock.advance(5_000);
  }
  expect(await work).toMatchObject({ failure: { kind } });
});

test('F24 Retry-After is waited for, also where it is longer than the usual wait', async () => {
  const clock = new FakeClock();
  await using at = await scene(
    (_request, index) => (index === 0 ? errorReply(429, { message: 'slow down' }, { 'retry-after': '7' }) : jsonReply({ ok: 1 })),
    { clock },
  );
  const work = at.post();
  await until('the first try', () => at.server.requests.length === 1);
  await until('it waits', () => clock.sleeping === 2);
  await clock.advance(6_900);
  expect(at.server.requests).toHaveLength(1);
  await clock.advance(200);
  expect(await work).toEqual({ ok: 1 });
});

test('F24 a wait that would pass the time limit is not waited', async () => {
  await using at = await scene(() => errorReply(429, { message: 'slow down' }, { 'retry-after': '61' }));
  await expect(at.post()).rejects.toMatchObject({ failure: { kind: 'rate-limit', retryAfterMs: 61_000 } });
});

test('F27 a server that stays silent, or sends a byte now and then, ends with the time limit', async () => {
  for (const reply of [text('', { end: 'hang' }), text('', { pieces: Array<string>(200).fill(' '), gapMs: 20, end: 'hang' })]) {
    await using at = await scene(() => reply, { timeoutMs: 150, clock: new SteadyClock() });
    await expect(at.post()).rejects.toMatchObject({ failure: { kind: 'timeout' } });
    await until('the connection is closed', () => at.server.requests[0]?.cut);
  }
});

test('F23 a server that is not there is a network failure without the key', async () => {
  await using at = await scene(undefined);
  await at.server[Symbol.asyncDispose]();
  const clock = new FakeClock();
  await using gone = await scene(undefined, { clock, baseUrl: `${at.server.url}/v1`, timeoutMs: 10 });
  await expect(gone.post()).rejects.toMatchObject({ failure: { kind: 'network' } });
});

test('A29 no failure holds the key, whatever the server quotes', async () => {
  const quotes = [KEY, Buffer.from(KEY).toString('base64'), encodeURIComponent(KEY), `...${KEY.slice(3)}`];
  for (const quote of quotes) {
    await using at = await scene(() => errorReply(400, { message: `bad header ${quote}` }));
    const error: unknown = await at.post().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ failure: { kind: 'bad-request' } });
    for (const form of quotes) expect(JSON.stringify(error)).not.toContain(form);
  }
});

test('an abort ends the request, and the wait before the next one, with its reason', async () => {
  const reason = new Error('/stop');
  await using silent = await scene(() => text('', { end: 'hang' }));
  const stop = new AbortController();
  const work = silent.post(stop.signal);
  await until('it was asked', () => silent.server.requests.length === 1);
  stop.abort(reason);
  await expect(work).rejects.toBe(reason);
  await using failing = await scene(() => errorReply(500, { message: 'no' }), { clock: new FakeClock() });
  const stopWait = new AbortController();
  const waiting = failing.post(stopWait.signal);
  await until('it was asked', () => failing.server.requests.length === 1);
  setTimeout(() => stopWait.abort(reason), 50);
  await expect(waiting).rejects.toBe(reason);
});
