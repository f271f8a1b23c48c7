import { expect, test } from 'vitest';
import type { RunEvent } from '../core/events.ts';
import { startChild } from '../testing/child-daemon.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import { type Origin, originNow } from './origin.ts';

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

test('F38 what a message sets going is on behalf of no other run whose write shares its commit', async () => {
  await using dir = await tempDir();
  const seen: [string, Origin | undefined][] = [];
  let delivered: Promise<unknown> | undefined;
  const observe = (event: RunEvent): void => {
    if (event.type === 'model.done' && event.messageId?.endsWith('/a'))
      delivered = rig.channel.deliver({ chatId: 'b', platformId: 'b', text: 'b' });
    if ((event.type === 'queued' || event.type === 'finished') && event.messageId?.endsWith('/b'))
      seen.push([event.type, originNow()]);
  };
  const model = scriptedModel((request) => `re ${request.messages.at(-1)?.content}`);
  await using rig = await testDaemon({ dataDir: dir.path, model, daemon: { observe } });
  await rig.channel.deliver({ chatId: 'a', platformId: 'a', text: 'a' });
  await rig.daemon.gateway.idle();
  await delivered;
  await rig.daemon.gateway.idle();
  expect(rig.channel.texts('b')).toEqual(['re b']);
  expect(seen).toEqual([
    ['queued', undefined],
    ['finished', undefined],
  ]);
});
