import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createHttpAgent } from './http-agent.ts';
import { sendRequest } from './http-request.ts';

async function serve(answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new Agent({ keepAlive: true });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = `http://127.0.0.1:${address.port}`;
  return {
    url,
    agent,
    send: (path: string, signal = new AbortController().signal): Promise<IncomingMessage> =>
      sendRequest(`${url}${path}`, { agent, signal }),
    async [Symbol.asyncDispose]() {
      agent.destroy();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

test('a request arrives as it was given, and its answer comes back unread, a redirect too', async () => {
  await using server = await serve(async (request, response) => {
    const { method, url, headers } = request;
    response.writeHead(302, { location: '/' }).end(`${method} ${url} ${headers['x-key']} ${await text(request)}`);
  });
  const { agent } = server;
  const headers = { 'x-key': 'k' };
  const { signal } = new AbortController();
  const answer = await sendRequest(`${server.url}/a?b`, { method: 'POST', headers, body: 'grüße', agent, signal });
  expect([answer.statusCode, await text(answer)]).toEqual([302, 'POST /a?b k grüße']);
});

test('a body that is a stream is sent as it comes; where it breaks, the request breaks with its error', async () => {
  await using server = await serve(async (request, response) => response.end(await text(request).catch(() => 'broken')));
  const { url, agent } = server;
  const post = (body: Readable) => sendRequest(url, { method: 'POST', body, agent, signal: new AbortController().signal });
  expect(await text(await post(Readable.from(['one ', 'two'])))).toBe('one two');
  const breaking = Readable.from(
    (async function* () {
      yield 'one';
      throw new Error('the file is gone');
    })(),
  );
  await expect(post(breaking)).rejects.toThrow('the file is gone');
});

test('an abort ends a request with its reason, before it, before the answer, and in the answer', async () => {
  await using server = await serve((request, response) => {
    if (request.url === '/rest') response.write('first');
  });
  const reason = new Error('enough');
  await expect(server.send('/', AbortSignal.abort(reason))).rejects.toBe(reason);

  const early = new AbortController();
  const unanswered = server.send('/', early.signal);
  setTimeout(() => early.abort(reason), 20);
  await expect(unanswered).rejects.toBe(reason);

  const late = new AbortController();
  const answer = await server.send('/rest', late.signal);
  setTimeout(() => late.abort(reason), 20);
  await expect(text(answer)).rejects.toBe(reason);
});

test('a connection that ends before the answer, or in the middle of it, rejects', async () => {
  await using server = await serve((request, response) => {
    if (request.url === '/rest') response.writeHead(200, { 'content-length': '9' }).write('a', () => response.destroy());
    else request.socket.destroy();
  });
  await expect(server.send('/')).rejects.toMatchObject({ code: 'ECONNRESET' });
  await expect(server.send('/rest').then(text)).rejects.toMatchObject({ code: 'ECONNRESET' });
});

test('one connection serves one request after the other, also after an abort that came behind the answer', async () => {
  const ports = new Set<number | undefined>();
  await using server = await serve((request, response) => {
    ports.add(request.socket.remotePort);
    response.end('ok');
  });
  for (let count = 0; count < 4; count += 1) {
    const controller = new AbortController();
    expect(await text(await server.send('/', controller.signal))).toBe('ok');
    controller.abort(new Error('no longer needed'));
  }
  expect(ports.size).toBe(1);
});

test('an answer that comes before the whole body was sent ends the sending', async () => {
  await using server = await serve((_request, response) => response.writeHead(413).end('too large'));
  const { url, agent } = server;
  const endless = new Readable({ read: () => undefined });
  endless.push('begin');
  const answer = await sendRequest(url, { method: 'POST', body: endless, agent, signal: new AbortController().signal });
  expect([answer.statusCode, await text(answer)]).toEqual([413, 'too large']);
  await expect.poll(() => endless.destroyed).toBe(true);
});

test('a body that broke before the request is its error', async () => {
  await using server = await serve((_request, response) => response.end());
  const body = new Readable({ read: () => undefined });
  body.on('error', () => undefined);
  body.destroy(new Error('the file is gone'));
  const { url, agent } = server;
  await expect(sendRequest(url, { body, agent, signal: new AbortController().signal })).rejects.toThrow('the file is gone');
});

test('an abort while a connection is set up is an error of the request alone, whatever its reason is', async () => {
  await using server = await serve((_request, response) => response.end());
  const agent = createHttpAgent({ tls: false });
  for (const reason of [undefined, new DOMException('late', 'TimeoutError'), new Error('enough')]) {
    const controller = new AbortController();
    const sent = sendRequest(server.url, { agent, signal: controller.signal });
    // By then the request has its socket, which does not stand yet.
    process.nextTick(() => process.nextTick(() => controller.abort(reason)));
    await expect(sent).rejects.toMatchObject({ message: (reason ?? AbortSignal.abort().reason).message });
    await new Promise(setImmediate);
  }
  agent.destroy();
});
