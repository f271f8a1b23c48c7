import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../lib/clock.ts';
import { FakeClock, tempDir, until } from '../testing/fakes.ts';
import { lockDataDir } from './lock.ts';

const LOCK = new URL('./lock.ts', import.meta.url).href;
const CLOCK = new URL('../lib/clock.ts', import.meta.url).href;

/** Takes the lock, says so, and lives on; `uid` drops root, whom file modes do not stop. */
function holder(dir: string, uid?: number): ChildProcess {
  const program = `
    const { lockDataDir } = await import('${LOCK}');
    const { systemClock } = await import('${CLOCK}');
    try {
      globalThis.lock = await lockDataDir(${JSON.stringify(dir)}, systemClock);
      console.log('locked');
      setInterval(() => {}, 1000);
    } catch (error) {
      console.log(error.code + ' ' + error.message);
    }`;
  const user = uid === undefined ? {} : { uid, gid: uid };
  return spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'], ...user });
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('the child has no output');
  const [chunk] = await once(child.stdout, 'data');
  return String(chunk).trim();
}

it('F42 a second locker is refused with pid and age; when the holder is killed the lock is free at once', async () => {
  await using dir = await tempDir();
  const child = holder(dir.path);
  try {
    expect(await firstLine(child)).toBe('locked');
    const later = new FakeClock(Date.now() + 3 * 3_600_000);
    const refusal = lockDataDir(dir.path, later);
    await expect(refusal).rejects.toMatchObject({
      code: 'GH1201',
      message: `another gatehouse (pid ${child.pid}, running for 3 h) uses ${dir.path}`,
    });
  } finally {
    child.kill('SIGKILL');
  }
  await once(child, 'exit');
  // Its note is still there and names a process that is gone: only the lock itself counts.
  expect(await readFile(join(dir.path, 'lock.json'), 'utf8')).toContain(String(child.pid));
  await using _lock = await lockDataDir(dir.path, systemClock);
  expect(await readFile(join(dir.path, 'lock.json'), 'utf8')).toContain(String(process.pid));
});

it('F42 the same process is refused too, and after disposal, twice for good measure, the next one gets the lock', async () => {
  await using dir = await tempDir();
  const data = join(dir.path, 'a', 'b');
  const first = await lockDataDir(data, systemClock);
  await expect(lockDataDir(data, systemClock)).rejects.toMatchObject({ code: 'GH1201' });
  await expect(lockDataDir(data, systemClock)).rejects.toMatchObject({ code: 'GH1201' }); // the refusal freed nothing
  expect((await stat(data)).mode & 0o777).toBe(0o700);
  expect((await stat(join(data, 'lock.db'))).mode & 0o777).toBe(0o600);
  await first[Symbol.asyncDispose]();
  await first[Symbol.asyncDispose]();
  expect(await readdir(data)).toEqual(['lock.db']);
  await using _second = await lockDataDir(data, systemClock);
});

it.each(['', '{"pid":', '{"pid":999999999,"since":1}', '[]', '\u0000'])(
  'F42 a note of %j is not believed and does not matter',
  async (text) => {
    await using dir = await tempDir();
    await using _lock = await lockDataDir(dir.path, systemClock);
    await writeFile(join(dir.path, 'lock.json'), text);
    await expect(lockDataDir(dir.path, systemClock)).rejects.toMatchObject({
      code: 'GH1201',
      message: `another gatehouse uses ${dir.path}`,
    });
  },
);

it('F16 a directory that cannot be made is refused in one line', async () => {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'file'), '');
  const refusal = lockDataDir(join(dir.path, 'file', 'data'), systemClock);
  await expect(refusal).rejects.toMatchObject({
    code: 'GH1202',
    message: expect.stringMatching(/^[^\n]*a part of the path is a file$/),
  });
});

it.each(['directory', 'lock file'])('F16 a %s without write permission is refused in one line', async (what) => {
  await using dir = await tempDir();
  const data = join(dir.path, 'data');
  const nobody = 65534;
  const root = process.getuid?.() === 0;
  await chmod(dir.path, 0o755);
  await mkdir(data, { mode: 0o777 });
  await chmod(data, what === 'directory' ? 0o555 : 0o777);
  if (what === 'lock file') {
    await writeFile(join(data, 'lock.db'), '', { mode: 0o444 });
    // Its own file: SQLite would open it for reading only, and an "exclusive" lock on that excludes nobody.
    if (root) await chown(join(data, 'lock.db'), nobody, nobody);
  }
  const child = holder(data, root ? nobody : undefined);
  try {
    expect(await firstLine(child)).toContain(
      `GH1202 this user may not use ${what === 'directory' ? data : join(data, 'lock.db')}`,
    );
  } finally {
    child.kill('SIGKILL');
    await until('the child is gone', () => child.exitCode !== null || child.signalCode !== null);
  }
});
