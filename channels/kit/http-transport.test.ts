import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { errorCodeOf, notConnected } from './http-agent.ts';
import { HttpTransport } from './http-transport.ts';

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

async function serve(listener: RequestListener): Promise<URL> {
  const server = createServer(listener);
  open.push(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

function transport(options: { keepAlive?: boolean } = {}): HttpTransport {
  const http = new HttpTransport(options);
  open.push(() => http.close());
  return http;
}

test('connections are kept for the next request or not, as wanted', async () => {
  const url = await serve(async (request, response) => void response.end(await text(request)));
  for (const [keepAlive, header] of [
    [true, 'keep-alive'],
    [false, 'close'],
  ] as const) {
    const answer = await transport({ keepAlive }).request({ method: 'POST', url, body: 'hello' });
    expect([answer.headers.connection, await text(answer)]).toEqual([header, 'hello']);
  }
});

test('F38 it is told when the connection stands, and an error before that is marked', async () => {
  const url = await serve(({ socket }) => socket.destroy());
  const connected: string[] = [];
  const http = transport();
  const ask = (target: URL, name: string) =>
    http.request({ method: 'GET', url: target, onConnected: () => connected.push(name) }).catch((error: unknown) => error);
  expect(notConnected(errorCodeOf(await ask(url, 'broken')))).toBe(false);
  open.shift()?.();
  expect(notConnected(errorCodeOf(await ask(url, 'refused')))).toBe(true);
  expect(connected).toEqual(['broken']);
});

test('a redirect is an answer, and a file that cannot be read to its end breaks the request', async () => {
  const url = await serve((request, response) => {
    request.resume().once('end', () => response.writeHead(302, { location: '/elsewhere' }).end());
  });
  const http = transport();
  const answer = await http.request({ method: 'GET', url });
  expect([answer.resume().statusCode, answer.headers.location]).toEqual([302, '/elsewhere']);
  const broken = new Readable({ read: () => undefined });
  const asked = http.request({ method: 'POST', url, headers: { 'content-length': '10' }, body: broken });
  broken.push('half');
  broken.destroy(new Error('gone'));
  await expect(asked).rejects.toThrow('gone');
});
