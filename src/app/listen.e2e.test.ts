// Health and status: who may read them, and what a port that is taken does.
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { until } from '../testing/fakes.ts';
import { telegramScene } from '../testing/telegram/scene.ts';

/** Tries at a port that another test's daemon has for a moment, 250 ms apart. */
const TRIES = 20;

/** A program that answers on this port of 127.0.0.1. Another gatehouse may hold it beyond our patience. */
async function occupied(port: number): Promise<{ readonly port: number } & AsyncDisposable> {
  const server = createServer((_request, response) => response.end('another program'));
  const listening = () =>
    new Promise<boolean>((resolve) => {
      const fail = () => resolve(false);
      server.once('error', fail).listen(port, '127.0.0.1', () => resolve(true));
    });
  let held = await listening();
  for (let nth = 0; !held && nth < TRIES; nth += 1) {
    await sleep(250);
    held = await listening();
  }
  const close = () => new Promise<void>((resolve) => (held ? server.close(() => resolve()) : resolve()));
  return { port: held ? (server.address() as AddressInfo).port : port, [Symbol.asyncDispose]: close };
}

test('a configured port that is taken stops the start, and the message says what to do', async () => {
  await using other = await occupied(0);
  await using at = await telegramScene({ gateway: { http: { port: other.port } } });
  await using daemon = await at.start();
  expect((await daemon.ended).code).not.toBe(0);
  expect(daemon.stderr()).toMatch(
    new RegExp(`✗ GH1004 cannot listen on 127\\.0\\.0\\.1:${other.port}: .*\\n  → .*another gateway\\.http\\.port`),
  );
  expect(daemon.stderr()).not.toMatch(/ ready in \d/);
});

test('a configured port that is taken ends a start before a platform or a model is asked and a journal is opened', async () => {
  await using other = await occupied(0);
  await using at = await telegramScene({ gateway: { http: { port: other.port } } });
  at.platform.inject({ text: 'hello' });
  await using daemon = await at.start();
  expect((await daemon.ended).code).toBe(1);
  expect([at.platform.calls, at.model.requests]).toEqual([[], []]);
  expect(await readdir(join(at.dir, 'data'))).not.toContain('journal.db');
});

test('where the usual port is taken another one is used, and the start says so', async () => {
  await using _other = await occupied(7780);
  await using at = await telegramScene({ gateway: { http: {} } });
  await using daemon = await at.start();
  const { port } = await daemon.ready();
  expect(port).not.toBe(7780);
  expect(daemon.stderr()).toMatch(
    new RegExp(`! health +http://127\\.0\\.0\\.1:${port}/healthz \\(port 7780 is taken; name one in gateway\\.http\\.port`),
  );
});

test('the state of the daemon is read by who can read its file alone; whether it lives, by all', async () => {
  await using at = await telegramScene();
  await using daemon = await at.start();
  const { port } = await daemon.ready();
  const bare = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  expect(await Promise.all(['/healthz', '/readyz', '/status'].map(bare))).toEqual([200, expect.any(Number), 401]);
  expect((await daemon.get('/status')).status).toBe(200);
});

test('a terminal whose input is over does not make a daemon ready whose only platform is down', async () => {
  await using at = await telegramScene({ channels: [{ type: 'cli' }] });
  await using daemon = await at.start({ env: { TELEGRAM_BOT_TOKEN: `12345:${'A'.repeat(35)}` } });
  await until('the token is refused', async () =>
    (await daemon.status()).channels.some(({ name, state }) => name === 'telegram' && state === 'down'),
  );
  const ready = await until('the input is over', async () => {
    const answer = await daemon.get('/readyz');
    return answer.status === 503 && answer.body;
  });
  expect(ready).toEqual({ ready: false, degraded: ['channel:telegram'] });
});
