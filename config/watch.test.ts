import { appendFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { FakeClock, tempDir, until } from '../src/testing/fakes.ts';
import { loadConfig } from './load.ts';
import { ConfigError } from './problem.ts';
import { type ConfigChange, watchConfig } from './watch.ts';

class CountingClock extends FakeClock {
  sleeps = 0;

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.sleeps += 1;
    return super.sleep(ms, signal);
  }
}

/** A watched file with a clock the test moves. */
async function watched(dir: string, text: string) {
  const file = join(dir, 'config.json');
  await writeFile(file, text);
  const load = () =>
    loadConfig({
      file,
      cwd: dir,
      home: dir,
      env: {},
      channelTypes: ['cli', 'telegram'],
      channelSettings: async () => z.strictObject({}),
    });
  const clock = new CountingClock();
  const stop = new AbortController();
  const changes: ConfigChange[] = [];
  const failures: unknown[] = [];
  const done = watchConfig({
    file,
    initial: await load(),
    load,
    onValid: (change) => changes.push(change),
    onInvalid: (error) => failures.push(error),
    clock,
    signal: stop.signal,
  });
  /** One poll, over when the watch sleeps again. */
  const poll = async () => {
    const { sleeps } = clock;
    await clock.advance(5_000);
    await until('the watch sleeps again', () => clock.sleeps > sleeps);
  };
  const end = async () => {
    stop.abort(new Error('test over'));
    await done;
  };
  return { file, changes, failures, poll, [Symbol.asyncDispose]: end };
}

test('F40 a file written in two halves 6 s apart keeps the old config, reports file and line once, then applies the whole', async () => {
  await using dir = await tempDir();
  await using watch = await watched(dir.path, '{"gateway": {"max_history": 10}}');
  const text = '{\n  "gateway": {\n    "max_history": 20\n  }\n}\n';
  await writeFile(watch.file, text.slice(0, 30));
  await watch.poll();
  await watch.poll();
  expect(watch.changes).toEqual([]);
  expect(watch.failures).toHaveLength(1);
  const error = watch.failures[0];
  expect(error).toBeInstanceOf(ConfigError);
  expect(String(error)).toContain(`${watch.file}:3:`);

  await appendFile(watch.file, text.slice(30));
  await watch.poll();
  expect(watch.failures).toHaveLength(1);
  expect(watch.changes.map(({ hot, restart }) => ({ hot, restart }))).toEqual([{ hot: ['gateway.max_history'], restart: [] }]);
  expect(watch.changes[0]?.loaded.config.gateway.max_history).toBe(20);
});

test.each([
  ['a wrong type', '{"max_iterations": "many"}', 'GH1101'],
  ['an unknown channel', '{"gateway": {"channels": [{"type": "nope"}]}}', 'GH1101'],
  ['an empty file', '', 'GH1101'],
])('F40 %s keeps the old config', async (_name, text, code) => {
  await using dir = await tempDir();
  await using watch = await watched(dir.path, '{}');
  await writeFile(watch.file, text);
  await watch.poll();
  await watch.poll();
  expect(watch.changes).toEqual([]);
  expect(watch.failures).toMatchObject([{ code }]);
});

test('F40 an unknown key is a warning and the rest applies', async () => {
  await using dir = await tempDir();
  await using watch = await watched(dir.path, '{}');
  await writeFile(watch.file, '{"gateway": {"system_prompt": "new", "from_a_newer_version": 1}}');
  await watch.poll();
  expect(watch.failures).toEqual([]);
  expect(watch.changes).toMatchObject([
    { hot: ['gateway.system_prompt'], loaded: { warnings: [{ path: 'gateway.from_a_newer_version' }] } },
  ]);
});

test('a file that vanished is reported once, and its return with the old content changes nothing but is noticed', async () => {
  await using dir = await tempDir();
  await using watch = await watched(dir.path, '{"model": "a"}');
  await rename(watch.file, `${watch.file}.away`);
  await watch.poll();
  await watch.poll();
  expect(watch.failures).toMatchObject([{ code: 'GH1102' }]);
  await rename(`${watch.file}.away`, watch.file);
  await watch.poll();
  expect(watch.changes).toMatchObject([{ hot: [], restart: [] }]);
  await rm(watch.file);
});

test('a key that waits for a restart is named again with every later change, until it is back to what the process runs with', async () => {
  await using dir = await tempDir();
  await using watch = await watched(dir.path, '{"model": "a"}');
  const write = async (text: string) => {
    await writeFile(watch.file, text);
    await watch.poll();
    const { hot, restart } = watch.changes.at(-1) as ConfigChange;
    return { hot, restart };
  };
  const pending = { hot: [], restart: ['gateway.channels', 'model'] };
  expect(await write('{"model": "b", "gateway": {"channels": []}}')).toEqual(pending);
  expect(await write('{"model": "b", "gateway": {"channels": [], "max_history": 5}}')).toEqual({
    hot: ['gateway.max_history'],
    restart: ['gateway.channels', 'model'],
  });
  expect(await write('{"model": "a", "gateway": {"max_history": 5}, "$schema": "x"}')).toEqual({ hot: [], restart: [] });
});

test('an unchanged file is not loaded again', async () => {
  await using dir = await tempDir();
  await using watch = await watched(dir.path, '{"model": "a"}');
  await writeFile(watch.file, '{"model": "a"}');
  await watch.poll();
  expect([watch.changes, watch.failures]).toEqual([[], []]);
});
