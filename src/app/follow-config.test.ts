// The file on disk, the watch and the engine are real; the parts only say what a change costs.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../config/load.ts';
import { configSchema } from '../../config/schema.ts';
import { GatehouseError } from '../core/errors.ts';
import { FakeClock, MemoryLogger, tempDir, until } from '../testing/fakes.ts';
import type { Config } from './compose/options.ts';
import { ConfigFollower } from './follow-config.ts';
import { fixedPart, livePart, Reloader } from './reload.ts';

async function scene(dir: string, text: string) {
  const file = join(dir, 'config.json');
  await writeFile(file, text);
  const load = (bytes?: Uint8Array) =>
    loadConfig({
      ...{ file, cwd: dir, home: dir, env: {}, channelTypes: ['cli'], channelSettings: async () => z.strictObject({}) },
      ...(bytes ? { bytes } : {}),
    });
  const [clock, logger, said, state] = [new FakeClock(), new MemoryLogger(), [] as string[], { refuses: false }];
  const config = await load();
  const reloader = new Reloader<Config>(config.config);
  const turns = livePart<Config>('turns', ['gateway.max_history', 'gateway.system_prompt'], () => {
    if (state.refuses) throw new GatehouseError('GH1103', 'environment variable X is not set');
  });
  reloader.take([turns, fixedPart('start', ['model', 'gateway.http'], 'restart-daemon')]);
  const follower = new ConfigFollower({ config, reload: load, clock, logger, say: (line) => said.push(line) });
  follower.start({ reload: (candidate, signal) => reloader.reload(candidate, signal) });
  /** What is written is asked for, and has been judged when it resolves. */
  const write = async (content: string) => {
    await writeFile(file, content);
    const [lines, { sleeping }] = [said.length, clock];
    follower.look();
    await until('the file is judged', async () => {
      await clock.advance(250);
      return said.length > lines;
    });
    expect(clock.sleeping).toBeLessThanOrEqual(sleeping + 1);
    return said.at(-1);
  };
  const logged = (event: string) => logger.lines.filter((line) => line.event === event).map(({ data }) => data);
  return { file, write, logged, said, state, follower, reloader, [Symbol.asyncDispose]: () => follower[Symbol.asyncDispose]() };
}

test('a change is told in the terminal, in the log and in the status, key by key with what it cost', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path, '{"model": "a"}');
  expect(at.follower.status()).toEqual({ file: at.file, needsRestart: [] });
  const text = await at.write('{"model": "a", "gateway": {"max_history": 9, "system_prompt": "x", "http": {"port": 1}}}');
  expect(text).toBe(
    'config: 2 live (gateway.max_history, gateway.system_prompt); 1 needs a restart of the daemon (gateway.http.port)',
  );
  expect(at.logged('config.applied')).toEqual([{ keys: ['gateway.max_history', 'gateway.system_prompt'] }]);
  expect(at.logged('config.needs-restart')).toEqual([{ keys: ['gateway.http.port'] }]);
  expect(at.follower.status()).toMatchObject({
    needsRestart: ['gateway.http.port'],
    applied: {
      changes: [{ key: 'gateway.max_history', cost: 'live' }, { key: 'gateway.system_prompt' }, { cost: 'restart-daemon' }],
    },
  });
});

test('a key that waits for a restart is named again with every later change, until it is back to what the process runs with', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path, '{"model": "a"}');
  await at.write('{"model": "b"}');
  await at.write('{"model": "b", "gateway": {"max_history": 5}}');
  expect(at.follower.status().needsRestart).toEqual(['model']);
  expect(at.said.at(-1)).toContain('1 needs a restart of the daemon (model)');
  // In the log it is news once.
  expect(at.logged('config.needs-restart')).toHaveLength(1);
  await at.write('{"model": "a", "gateway": {"max_history": 5}, "$schema": "x"}');
  expect([at.follower.status().needsRestart, at.reloader.running.model]).toEqual([[], 'a']);
});

test('a candidate that a part refuses is told with its reason, and the config in use stays until the file is mended', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path, '{}');
  at.state.refuses = true;
  expect(await at.write('{"gateway": {"max_history": 9}}')).toBe(
    'config: kept running on the previous one: GH1103: environment variable X is not set',
  );
  expect(at.logged('config.refused')).toMatchObject([{ code: 'GH1103', detail: expect.stringContaining('stays') }]);
  expect(at.follower.status()).toMatchObject({ problem: { code: 'GH1103' } });
  expect(at.reloader.running.gateway.max_history).toBe(50);
  at.state.refuses = false;
  await at.write('{"gateway": {"max_history": 8}}');
  expect([at.reloader.running.gateway.max_history, at.follower.status().problem]).toEqual([8, undefined]);
});

test('a key that may be meant as a protection refuses the reload, and the running config stays', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path, '{}');
  await at.write('{"gateway": {"max_history": 9}, "tool_polcy": {"deny": ["shell"]}}');
  expect(at.logged('config.invalid')).toMatchObject([
    { code: 'GH1101', detail: expect.stringContaining('nothing is protected by it') },
  ]);
  expect(at.reloader.running.gateway.max_history).toBe(50);
});

test('a file that is asked for again and did not change says so', async () => {
  await using dir = await tempDir();
  await using at = await scene(dir.path, '{}');
  expect(await at.write('{}')).toBe('config: nothing that runs is changed');
  expect(at.logged('config.unchanged')).toHaveLength(1);
});

test('without a file there is nothing to read again, which is told', async () => {
  const [logger, clock] = [new MemoryLogger(), new FakeClock()];
  await using follower = new ConfigFollower({
    config: { config: configSchema.parse({}), warnings: [] },
    clock,
    logger,
    say: () => undefined,
  });
  follower.start({ reload: async () => [] });
  follower.look();
  expect(logger.lines.map(({ event }) => event)).toEqual(['config.no-file']);
  expect(follower.status()).toEqual({ needsRestart: [] });
});
