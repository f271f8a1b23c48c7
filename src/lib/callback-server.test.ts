import { request } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { openCallbackServer } from './callback-server.ts';

const never = new AbortController().signal;
const OPTIONS = { port: 0, path: '/auth/callback', state: 'the-state' };

/** A request whose headers are ours; resolves with the status and headers. */
function send(url: string, options: { host?: string; method?: string; path?: string } = {}) {
  const { hostname, port, pathname, search } = new URL(url);
  const { host, method = 'GET', path = `${pathname}${search}` } = options;
  const headers = host === undefined ? {} : { host };
  return new Promise<{ status: number; headers: Readonly<Record<string, unknown>>; text: string }>((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += String(chunk);
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.on('error', reject).end();
  });
}

test('the first request with the right state is the answer, and later ones are too late', async () => {
  await using server = await openCallbackServer(OPTIONS);
  const answer = send(`${server.redirectUri}?code=the-code&state=the-state`);
  const callback = await server.callback(never);
  expect(callback.url.searchParams.get('code')).toBe('the-code');
  expect((await send(`${server.redirectUri}?code=other&state=the-state`)).status).toBe(410);
  callback.answer(true);
  expect(await answer).toMatchObject({ status: 200, text: expect.stringContaining('You are logged in.') });
});

test('the page loads nothing, is not kept, and does not pass on its address', async () => {
  await using server = await openCallbackServer(OPTIONS);
  const answer = send(`${server.redirectUri}?code=<script>&state=the-state`);
  (await server.callback(never)).answer(false);
  const { status, headers, text } = await answer;
  expect([status, text]).toEqual([
    400,
    '<!doctype html><title>Gatehouse</title><p>The login failed. The terminal says why.</p>\n',
  ]);
  expect(headers).toMatchObject({
    'content-security-policy': "default-src 'none'",
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    connection: 'close',
  });
});

test.each([
  ['another host (DNS rebinding)', { host: 'evil.example.com' }, 403],
  ['a host that only begins like this machine', { host: '127.0.0.1.evil.example.com' }, 403],
  ['a host with a name in front', { host: 'evil@127.0.0.1' }, 403],
  ['a full address of another host', { path: 'http://evil.example.com/auth/callback?state=the-state' }, 403],
  ['another path', { path: '/?state=the-state' }, 404],
  ['POST', { method: 'POST' }, 405],
  ['a wrong state', { path: '/auth/callback?code=x&state=the-stale' }, 400],
  ['no state', { path: '/auth/callback?code=x' }, 400],
])('a request with %s is turned away and the wait goes on', async (_what, options, status) => {
  await using server = await openCallbackServer(OPTIONS);
  expect((await send(`${server.redirectUri}?code=x&state=the-state`, options)).status).toBe(status);
  const answer = send(`${server.redirectUri}?code=real&state=the-state`, { host: 'localhost:1455' });
  const callback = await server.callback(never);
  expect(callback.url.searchParams.get('code')).toBe('real');
  callback.answer(true);
  await answer;
});

test('an abort ends the wait with its reason; closing twice is safe and waits for no idle connection', async () => {
  const server = await openCallbackServer(OPTIONS);
  const idle = connect(Number(new URL(server.redirectUri).port), '127.0.0.1');
  await new Promise((resolve) => idle.once('connect', resolve));
  const reason = new Error('enough');
  await expect(server.callback(AbortSignal.abort(reason))).rejects.toBe(reason);
  const closed = new Promise((resolve) => idle.once('close', resolve));
  idle.on('error', () => undefined);
  await server[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await closed;
  await expect(send(server.redirectUri)).rejects.toThrow('ECONNREFUSED');
});

test('listens on 127.0.0.1 alone', async () => {
  await using server = await openCallbackServer(OPTIONS);
  await expect(send(server.redirectUri.replace('127.0.0.1', '127.0.0.2'))).rejects.toThrow('ECONNREFUSED');
});
