import { createServer, Agent as HttpAgent, type IncomingMessage, type RequestListener, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createHttpAgent, errorCodeOf, notConnected, whenConnected } from './http-agent.ts';

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  open.push(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Nothing listens there any more. */
async function deadEnd(): Promise<string> {
  const url = await serve(() => undefined);
  open.pop()?.();
  return url;
}

function get(url: string, agent: HttpAgent, onRequest: (sent: ReturnType<typeof request>) => void = () => undefined) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(url, { agent }, resolve).once('error', reject);
    onRequest(sent);
    sent.end();
  });
}

test('F38 a connection that was refused is told from one that broke with the request under way', async () => {
  const agent = createHttpAgent({ tls: false });
  open.push(() => agent.destroy());
  const refused: unknown = await get(await deadEnd(), agent).catch((error: unknown) => error);
  expect([notConnected(errorCodeOf(refused)), errorCodeOf(refused)]).toEqual([true, 'not connected: ECONNREFUSED']);
  const broken: unknown = await get(await serve(({ socket }) => socket.destroy()), agent).catch((error: unknown) => error);
  expect(broken).toBeInstanceOf(Error);
  expect(notConnected(errorCodeOf(broken))).toBe(false);
});

test('with another agent it is told when the connection stands, once for each request, also over one that is kept alive', async () => {
  const agent = new HttpAgent({ keepAlive: true });
  open.push(() => agent.destroy());
  const url = await serve((_, response) => response.end('ok'));
  const connected: number[] = [];
  for (const round of [1, 2]) {
    const answer = await get(url, agent, (sent) => whenConnected(sent, false, () => connected.push(round)));
    await answer.resume().toArray();
  }
  expect(connected).toEqual([1, 2]);
  const refused = get(await deadEnd(), agent, (sent) => whenConnected(sent, false, () => connected.push(3)));
  await expect(refused).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  expect(connected).toEqual([1, 2]);
});

test('the first code along the causes is found, and that of several addresses of one name', async () => {
  const inner = Object.assign(new Error('x'), { code: 'ENOTFOUND' });
  expect(errorCodeOf(new TypeError('fetch failed', { cause: inner }))).toBe('ENOTFOUND');
  expect(errorCodeOf(new TypeError('fetch failed', { cause: new AggregateError([inner]) }))).toBe('ENOTFOUND');
  expect([errorCodeOf(new Error('x')), errorCodeOf('x'), errorCodeOf(new AggregateError([]))]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
