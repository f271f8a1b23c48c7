import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { startHttpServer } from './server.ts';

const routes = {
  '/healthz': async () => ({ status: 200, body: { ok: true } }),
  '/broken': async () => {
    throw new Error('/secret/path');
  },
};

const guarded = { token: 'secret-of-the-owner', routes: { '/status': async () => ({ status: 200, body: { all: true } }) } };
const at = { host: '127.0.0.1', port: 0, routes, guarded };

function get(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

describe('the local HTTP server', () => {
  it('answers a known path and knows no other', async () => {
    await using server = await startHttpServer(at);
    expect(await get(server.port, '/healthz?x=1')).toEqual({ status: 200, body: '{"ok":true}\n' });
    expect((await get(server.port, '/nothing')).status).toBe(404);
  });

  it('refuses a foreign Host header and every method but GET and HEAD', async () => {
    await using server = await startHttpServer(at);
    expect((await get(server.port, '/healthz', { host: 'evil.example:7780' })).status).toBe(403);
    expect((await get(server.port, '/healthz', {}, 'POST')).status).toBe(403);
  });

  it('answers HEAD, and HTTP/1.0 without a Host header, as a monitor may ask', async () => {
    await using server = await startHttpServer(at);
    expect(await get(server.port, '/healthz', {}, 'HEAD')).toEqual({ status: 200, body: '' });
    expect((await get(server.port, '/status', {}, 'HEAD')).status).toBe(401);
    const old = async (headers: string) => {
      const socket = connect(server.port, '127.0.0.1');
      socket.write(`GET /healthz HTTP/1.0\r\n${headers}\r\n`);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      socket.destroy();
      return answer.toString().split('\r\n', 1)[0];
    };
    expect(await old('')).toBe('HTTP/1.1 200 OK');
    for (const host of ['Host: evil.example\r\n', 'Host:\r\n']) expect(await old(host), host).toBe('HTTP/1.1 403 Forbidden');
  });

  it('keeps what is guarded from callers without the token', async () => {
    await using server = await startHttpServer(at);
    const status = (authorization?: string) => get(server.port, '/status', authorization === undefined ? {} : { authorization });
    expect((await status()).status).toBe(401);
    for (const wrong of ['Bearer', 'Bearer ', 'Bearer secret-of-the-owne', 'secret-of-the-owner', 'Basic c2VjcmV0'])
      expect((await status(wrong)).status, wrong).toBe(401);
    expect(await status('Bearer secret-of-the-owner')).toEqual({ status: 200, body: '{"all":true}\n' });
    expect((await get(server.port, '/healthz')).status).toBe(200);
  });

  it('answers while 300 connections send nothing, or half a request', async () => {
    await using server = await startHttpServer(at);
    const sockets = Array.from({ length: 300 }, () => connect(server.port, '127.0.0.1').on('error', () => undefined));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (const [index, socket] of sockets.entries()) if (index % 2 === 0) socket.write('GET /healthz HTTP/1.1\r\nHost: ');
    const since = performance.now();
    expect((await get(server.port, '/healthz')).status).toBe(200);
    // Before their own time is over.
    expect(performance.now() - since).toBeLessThan(2_000);
    for (const socket of sockets) socket.destroy();
  });

  it('does not reveal what went wrong', async () => {
    await using server = await startHttpServer(at);
    expect(await get(server.port, '/broken')).toEqual({ status: 500, body: '{"ok":false}\n' });
  });

  it('refuses to bind anything but loopback, and says how to mend a port in use', async () => {
    const outside = startHttpServer({ ...at, host: '0.0.0.0' });
    await expect(outside).rejects.toMatchObject({ code: 'GH1101', hint: expect.stringContaining('`Host: 127.0.0.1`') });
    await using server = await startHttpServer(at);
    await expect(startHttpServer({ ...at, port: server.port })).rejects.toMatchObject({
      hint: expect.stringContaining('gateway.http.port'),
    });
  });
});
