import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startHttpServer } from '../http/server.ts';
import { tempDir } from '../testing/fakes.ts';

test('the daemon of this machine is asked past the proxies of the environment, which see no token', async () => {
  await using dir = await tempDir();
  const told: string[] = [];
  const proxy = createServer((request, response) => {
    told.push(JSON.stringify(request.headers));
    response.writeHead(502).end();
  });
  proxy.on('connect', (request, socket) => {
    told.push(String(request.url));
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const about = { pid: 4711, startedAt: 1, version: '1' };
  const parts = { model: {}, journal: {}, lanes: {}, usageToday: {}, channels: [], lastErrors: [], degraded: [] };
  const guarded = { token: 'T', routes: { '/status': async () => ({ status: 200, body: { ...about, ...parts } }) } };
  await using http = await startHttpServer({ host: '127.0.0.1', port: 0, routes: {}, guarded });
  const record = { ...about, host: http.host, port: http.port, token: 'T' };
  await writeFile(join(dir.path, 'daemon.json'), JSON.stringify(record));
  // Node looks at the variables once, when it starts.
  const script = `
    const { askDaemon } = await import(${JSON.stringify(import.meta.resolve('./daemon-status.ts'))});
    process.stdout.write((await askDaemon(${JSON.stringify(dir.path)})).kind, () => process.exit());`;
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: address, HTTPS_PROXY: address, NO_PROXY: '' };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env,
    timeout: 30_000,
  });
  proxy.close();
  expect([stdout, told]).toEqual(['up', []]);
});
