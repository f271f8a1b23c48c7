import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startSlackServer } from './slack/server.ts';
import { startTelegramServer } from './telegram/server.ts';

/** `fetch` sets no Host of its own. */
async function statusOf(url: string, headers: Record<string, string>): Promise<number | undefined> {
  const request = httpRequest(url, { method: 'POST', headers }).end('{}');
  const [response] = (await once(request, 'response')) as [{ statusCode?: number; resume(): void }];
  response.resume();
  return response.statusCode;
}

test.each([
  ['of another page', { origin: 'http://evil.example' }],
  ['of a page that says nothing but where it is', { 'sec-fetch-site': 'cross-site' }],
  ['under a name that was bound anew', { host: 'evil.example' }],
])('a platform that is played answers no call %s (A41)', async (_what, headers) => {
  await using server = await startTelegramServer();
  const url = `${server.url}/bot${server.token}/getMe`;
  expect([await statusOf(url, {}), await statusOf(url, headers)]).toEqual([200, 403]);
});

test('a platform that is played takes no socket of a page (A41)', async () => {
  await using server = await startSlackServer();
  const socket = new WebSocket(server.apiRoot.replace('http', 'ws'), { origin: 'http://evil.example' });
  const [error] = (await once(socket, 'error')) as [Error];
  expect(error.message).toContain('hang up');
});
