import { chmod, chown, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { closeToOthers, dataDirError, ensureDataDir } from './data-dir.ts';

it('F16 a full disk is named as one, with what to do, whoever says it', () => {
  const errors = [Object.assign(new Error('write'), { code: 'ENOSPC' }), new Error('database or disk is full')];
  for (const error of errors) {
    expect(dataDirError('/data', error)).toMatchObject({
      code: 'GH1202',
      message: '/data cannot be written: no space left on the device',
      hint: expect.stringContaining('free some space'),
    });
  }
});

it('F16 a read-only file system is named as one, and owner and mode are not blamed', () => {
  const error = Object.assign(new Error('access'), { code: 'EROFS' });
  expect(dataDirError('/data', error)).toMatchObject({
    message: '/data cannot be written: the file system is read-only',
    hint: 'mount it so that it can be written, or name another `--data-dir`',
  });
});

it('F16 a path that leads through a file is refused with a code', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'file');
  await writeFile(file, '');
  for (const path of [file, join(file, 'below')]) {
    await expect(ensureDataDir(path)).rejects.toMatchObject({
      code: 'GH1202',
      message: `${path} cannot be written: a part of the path is a file`,
      hint: 'name a directory with `--data-dir`',
    });
  }
});

it('F16 an executable file at the path is refused with a code', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'program');
  await writeFile(file, '', { mode: 0o755 });
  await expect(ensureDataDir(file)).rejects.toMatchObject({ code: 'GH1202', message: expect.stringContaining('is a file') });
});

it.skipIf(process.platform !== 'linux')(
  'F16 a place where the system takes no directories is refused with a code, soon',
  async () => {
    await expect(ensureDataDir('/proc/gatehouse/data')).rejects.toMatchObject({ code: 'GH1202' });
  },
);

it('makes the directory with its parents, for the owner alone, and takes one that is there', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'a/b');
  await ensureDataDir(path);
  await ensureDataDir(path);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
});

it.skipIf(process.platform === 'win32')(
  'a directory in which every user may write is closed to them, once, with a warning',
  async () => {
    await using dir = await tempDir();
    await chmod(dir.path, 0o777);
    const told: string[] = [];
    for (let n = 0; n < 2; n += 1) await closeToOthers(dir.path, (detail) => told.push(detail));
    expect((await stat(dir.path)).mode & 0o777).toBe(0o775);
    expect(told).toEqual([`every user of this machine could write in ${dir.path}; now only its owner and group can`]);
  },
);

it.skipIf(process.platform === 'win32')(
  'one of another user in which every user may write is refused with what to do',
  async () => {
    await using dir = await tempDir();
    const isRoot = process.getuid?.() === 0;
    await chmod(dir.path, 0o777);
    if (isRoot) await chown(dir.path, 65_534, 65_534);
    // Other users than root cannot give a directory away.
    await expect(closeToOthers(isRoot ? dir.path : '/tmp', () => undefined)).rejects.toMatchObject({
      code: 'GH1202',
      hint: expect.stringContaining('--data-dir'),
    });
  },
);
