import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { startHttpServer } from './server.ts';

const routes = {
  '/healthz': async () => ({ status: 200, body: { ok: true } }),
  '/broken': async () => {
    throw new Error('/secret/path');
  },
};

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
    await using server = await startHttpServer({ host: '127.0.0.1', port: 0, routes });
    expect(await get(server.port, '/healthz?x=1')).toEqual({ status: 200, body: '{"ok":true}\n' });
    expect((await get(server.port, '/nothing')).status).toBe(404);
  });

  it('refuses a foreign Host header and every method but GET', async () => {
    await using server = await startHttpServer({ host: '127.0.0.1', port: 0, routes });
    expect((await get(server.port, '/healthz', { host: 'evil.example:7780' })).status).toBe(403);
    expect((await get(server.port, '/healthz', {}, 'POST')).status).toBe(403);
  });

  it('does not reveal what went wrong', async () => {
    await using server = await startHttpServer({ host: '127.0.0.1', port: 0, routes });
    expect(await get(server.port, '/broken')).toEqual({ status: 500, body: '{"ok":false}\n' });
  });

  it('refuses to bind anything but loopback, and says how to mend a port in use', async () => {
    await expect(startHttpServer({ host: '0.0.0.0', port: 0, routes })).rejects.toMatchObject({ code: 'GH1101' });
    await using server = await startHttpServer({ host: '127.0.0.1', port: 0, routes });
    await expect(startHttpServer({ host: '127.0.0.1', port: server.port, routes })).rejects.toMatchObject({
      hint: expect.stringContaining('gateway.http.port'),
    });
  });
});
