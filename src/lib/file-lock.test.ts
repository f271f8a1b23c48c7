import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { systemClock } from './clock.ts';
import { lockFile } from './file-lock.ts';

const never = new AbortController().signal;
const GUARD = join(import.meta.dirname, '../cli/node-guard.mjs');

test('one holder at a time, within a process too', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'x.lock');
  let [inside, most, done] = [0, 0, 0];
  const work = async (): Promise<void> => {
    using _lock = await lockFile(path, { clock: systemClock, signal: never });
    inside += 1;
    most = Math.max(most, inside);
    await new Promise((resolve) => setTimeout(resolve, 5));
    inside -= 1;
    done += 1;
  };
  await Promise.all(Array.from({ length: 8 }, work));
  expect({ most, done }).toEqual({ most: 1, done: 8 });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('whoever waits is freed by an abort with its reason, and releasing twice is safe', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'x.lock');
  const held = await lockFile(path, { clock: systemClock, signal: never });
  const controller = new AbortController();
  const waiting = lockFile(path, { clock: systemClock, signal: controller.signal });
  const reason = new Error('enough');
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  held[Symbol.dispose]();
  held[Symbol.dispose]();
  (await lockFile(path, { clock: systemClock, signal: never }))[Symbol.dispose]();
});

test('a killed process leaves no lock behind', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'x.lock');
  const child = holder(path);
  await once(child.stdout ?? child, 'data');
  let got = false;
  const waiting = lockFile(path, { clock: systemClock, signal: never }).then((lock) => {
    got = true;
    return lock;
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(got).toBe(false);
  child.kill('SIGKILL');
  (await waiting)[Symbol.dispose]();
});

test('a lock that cannot be written is an error, not a lock', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'x.lock');
  await writeFile(path, '');
  await chmod(path, 0o400);
  const locking = lockFile(process.getuid?.() === 0 ? join(dir.path, 'absent', 'x.lock') : path, {
    clock: systemClock,
    signal: never,
  });
  await expect(locking).rejects.toThrow();
});

function holder(path: string): ChildProcess {
  const code = `
    const { lockFile } = await import(${JSON.stringify(join(import.meta.dirname, 'file-lock.ts'))});
    const { systemClock } = await import(${JSON.stringify(join(import.meta.dirname, 'clock.ts'))});
    await lockFile(${JSON.stringify(path)}, { clock: systemClock, signal: new AbortController().signal });
    console.log('held');
    setInterval(() => {}, 1000);`;
  return spawn(process.execPath, ['--import', GUARD, '--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}
