import { expect, test } from 'vitest';
import { startChild } from '../testing/child-daemon.ts';
import { tempDir, until } from '../testing/fakes.ts';

test('F38 the program outlives a stray rejection, and ends in order with 1 after a stray exception', async () => {
  await using dir = await tempDir();
  // Loaded by the program before anything else: what it does is on behalf of no channel or run.
  const hook = encodeURIComponent(`
    process.on('SIGUSR2', () => void Promise.reject(new Error('forgotten')));
    process.on('SIGWINCH', () => { throw new Error('half done'); });`);
  const config = { gateway: { http: { port: 0 }, channels: [{ type: 'cli' }] } };
  await using daemon = await startChild({
    dir: dir.path,
    config,
    stdin: 'pipe',
    env: { NODE_OPTIONS: `--import data:text/javascript,${hook}` },
  });
  await daemon.ready();
  daemon.process.kill('SIGUSR2');
  await until('it is logged', () => daemon.stderr().includes('stray.rejection'));
  expect((await daemon.status()).channels).toHaveLength(1);
  daemon.process.kill('SIGWINCH');
  expect(await daemon.ended).toEqual({ code: 1, signal: null });
  expect(daemon.stderr()).toMatch(/GH1007.*stray\.exception/);
});
