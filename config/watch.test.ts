import { execFileSync } from 'node:child_process';
import { appendFile, open, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { FakeClock, tempDir, until } from '../src/testing/fakes.ts';
import { type LoadedConfig, loadConfig } from './load.ts';
import { ConfigError } from './problem.ts';
import { ConfigWatch } from './watch.ts';

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
  const load = (bytes?: Uint8Array) =>
    loadConfig({
      file,
      ...(bytes ? { bytes } : {}),
      cwd: dir,
      home: dir,
      env: {},
      channelTypes: ['cli', 'telegram'],
      channelSettings: async () => z.strictObject({}),
    });
  const clock = new CountingClock();
  const stop = new AbortController();
  const loaded: LoadedConfig[] = [];
  const failures: unknown[] = [];
  const { hash } = await load();
  const watch = new ConfigWatch({
    ...{ file, hash, load, clock },
    onValid: async (change) => void loaded.push(change),
    onInvalid: (error) => failures.push(error),
  });
  const done = watch.run(stop.signal);
  /** Two looks, as a content has to stand still between them; over when the watch sleeps again. */
  const poll = async () => {
    for (let looks = 0; looks < 2; looks += 1) {
      const { sleeps } = clock;
      await clock.advance(5_000);
      await until('the watch sleeps again', () => clock.sleeps > sleeps);
    }
  };
  const end = async () => {
    stop.abort(new Error('test over'));
    await done;
  };
  return { file, clock, watch, loaded, failures, poll, [Symbol.asyncDispose]: end };
}

test('F40 a file written in two halves 6 s apart keeps the old config, reports file and line once, then applies the whole', async () => {
  await using dir = await tempDir();
  await using watch = await watched(dir.path, '{"gateway": {"max_history": 10}}');
  const text = '{\n  "gateway": {\n    "max_history": 20\n  }\n}\n';
  await writeFile(watch.file, text.slice(0, 30));
  await watch.poll();
  await watch.poll();
  expect(watch.loaded).toEqual([]);
  expect(watch.failures).toHaveLength(1);
  const error = watch.failures[0];
  expect(error).toBeInstanceOf(ConfigError);
  expect(String(error)).toContain(`${watch.file}:3:`);

  await appendFile(watch.file, text.slice(30));
  await watch.poll();
  expect(watch.failures).toHaveLength(1);
  expect(watch.loaded.map(({ config }) => config.gateway.max_history)).toEqual([20]);
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
  expect(watch.loaded).toEqual([]);
  expect(watch.failures).toMatchObject([{ code }]);
});

test('F40 an unknown key is a warning and the rest applies', async () => {
  await using dir = await tempDir();
  await using watch = await watched(dir.path, '{}');
  await writeFile(watch.file, '{"gateway": {"system_prompt": "new", "from_a_newer_version": 1}}');
  await watch.poll();
  expect(watch.failures).toEqual([]);
  expect(watch.loaded).toMatchObject([
    { config: { gateway: { system_prompt: 'new' } }, warnings: [{ path: 'gateway.from_a_newer_version' }] },
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
  expect(watch.loaded).toMatchObject([{ config: { model: 'a' } }]);
  await rm(watch.file);
});

test('an unchanged file is not loaded again', async () => {
  await using dir = await tempDir();
  await using watch = await watched(dir.path, '{"model": "a"}');
  await writeFile(watch.file, '{"model": "a"}');
  await watch.poll();
  expect([watch.loaded, watch.failures]).toEqual([[], []]);
});

test('a content that is still being written does not count, however valid it is', async () => {
  await using dir = await tempDir();
  await using watch = await watched(dir.path, '{"model": "a"}');
  for (const model of ['b', 'c', 'd']) {
    await writeFile(watch.file, `{"model": "${model}"}`);
    const { sleeps } = watch.clock;
    await watch.clock.advance(model === 'b' ? 5_000 : 250);
    await until('the watch sleeps again', () => watch.clock.sleeps > sleeps);
  }
  expect(watch.loaded).toEqual([]);
  await watch.poll();
  expect(watch.loaded.map(({ config }) => config.model)).toEqual(['d']);
});

test('one that is asked to look does so at once, and says what there is although nothing changed', async () => {
  await using dir = await tempDir();
  await using watch = await watched(dir.path, '{"model": "a"}');
  const look = async () => {
    const { sleeps } = watch.clock;
    watch.watch.look();
    await until('it has looked', () => watch.clock.sleeps > sleeps);
    await watch.clock.advance(250);
    await until('the watch sleeps again', () => watch.clock.sleeps > sleeps + 1);
  };
  await look();
  expect(watch.loaded.map(({ config }) => config.model)).toEqual(['a']);
  await writeFile(watch.file, 'no JSON');
  await look();
  await look();
  await watch.poll();
  expect([watch.loaded.length, watch.failures.length]).toEqual([1, 2]);
});

test('a problem that is met again and again is told once, until there was a file without it', async () => {
  await using dir = await tempDir();
  await using watch = await watched(dir.path, '{}');
  for (const text of ['"x"', '"y"', '"z"', '5', '"x"']) {
    await writeFile(watch.file, `{"max_iterations": ${text}}`);
    await watch.poll();
  }
  expect(watch.loaded).toHaveLength(1);
  expect(watch.failures.map(String)).toEqual(
    Array.from({ length: 2 }, () => expect.stringContaining('max_iterations: must be a number')),
  );
});

test.skipIf(process.platform === 'win32')('what is no file, or no end of one, is refused and not waited for', async () => {
  await using dir = await tempDir();
  await using watch = await watched(dir.path, '{}');
  for (const target of ['/dev/zero', dir.path, join(dir.path, 'pipe')]) {
    if (target.endsWith('pipe')) execFileSync('mkfifo', [target]);
    await rm(watch.file);
    await symlink(target, watch.file);
    await watch.poll();
  }
  await rm(watch.file);
  await writeFile(watch.file, Buffer.alloc(5_000_000, ' '));
  await watch.poll();
  expect(watch.loaded).toEqual([]);
  expect(watch.failures.map(String)).toEqual([
    expect.stringContaining('is not a regular file'),
    expect.stringContaining('has more than 4000000 bytes'),
  ]);
});

test('F40 a file that is replaced 200 times a second never counts as a mixture, and is taken when it stands still', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'config.json');
  // Equally long, so that the first half of one and the second of the other are one valid file.
  const text = (n: number): string => `{"gateway": {"max_history": ${n},${' '.repeat(5_000)}"system_prompt": "${n}"}}`;
  await writeFile(file, text(1));
  const [loaded, failures, stop] = [[] as LoadedConfig[], [] as unknown[], new AbortController()];
  const clock = new FakeClock();
  const load = (bytes?: Uint8Array) =>
    loadConfig({
      ...{ file, cwd: dir.path, home: dir.path, env: {}, channelTypes: ['cli'] },
      channelSettings: async () => z.strictObject({}),
      ...(bytes ? { bytes } : {}),
    });
  const { hash } = await load();
  const watch = new ConfigWatch({
    ...{ file, hash, load, clock, intervalMs: 252 },
    onValid: async (change) => void loaded.push(change),
    onInvalid: (error) => failures.push(error),
  });
  const running = watch.run(stop.signal);
  const pause = () => clock.advance(2.5);
  const halves = async (n: number) => {
    await using opened = await open(file, 'r+');
    const half = Buffer.from(text(n));
    await opened.write(half, 0, 2_500, 0);
    await pause();
    await opened.write(half, 2_500, half.length - 2_500, 2_500);
  };
  const renamed = async (n: number) => {
    await writeFile(`${file}.new`, text(n));
    await rename(`${file}.new`, file);
  };
  const linked = async (n: number) => {
    await writeFile(`${file}.${n}`, text(n));
    await symlink(`${file}.${n}`, `${file}.link`);
    await rename(`${file}.link`, file);
  };
  const removed = async (n: number) => {
    await rm(file);
    await pause();
    await writeFile(file, text(n));
  };
  for (let n = 0; n < 400; n += 1) {
    const write = n % 20 < 17 ? halves : [renamed, linked, removed][n % 3];
    await write?.((n % 2) + 2);
    await pause();
  }
  await renamed(9);
  await until('it is taken', async () => {
    await clock.advance(250);
    return loaded.at(-1)?.config.gateway.max_history === 9;
  });
  stop.abort(new Error('test over'));
  await running;
  expect(loaded.filter(({ config: { gateway } }) => String(gateway.max_history) !== gateway.system_prompt)).toEqual([]);
  expect(failures).toEqual([]);
});
