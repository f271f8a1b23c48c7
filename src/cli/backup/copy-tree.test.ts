import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { lstat, mkdir, readFile, readlink, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { openJsonlStore } from '../../../sessions/jsonl-store.ts';
import { FakeClock, tempDir } from '../../testing/fakes.ts';
import { type CopyOptions, copyTree } from './copy-tree.ts';

async function scene() {
  const dir = await tempDir();
  const [from, to, outside] = [join(dir.path, 'data'), join(dir.path, 'copy'), join(dir.path, 'outside')];
  for (const path of [from, to, outside]) await mkdir(path);
  return {
    ...{ dir, from, to, outside },
    async write(path: string, text: string): Promise<void> {
      await mkdir(dirname(join(dir.path, path)), { recursive: true });
      await writeFile(join(dir.path, path), text);
    },
    copy: async (more: Partial<CopyOptions> = {}) =>
      await copyTree({ from, to, takes: () => true, database: () => undefined, ...more }),
    names: () => namesIn(to),
    async [Symbol.asyncDispose](): Promise<void> {
      // Node removes by paths, and some are too long for that.
      execFileSync('rm', ['-rf', dir.path]);
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** Of all that lies in it; links are not followed. */
function namesIn(dir: string): readonly string[] {
  const found = execFileSync('find', ['.'], { cwd: dir, encoding: 'utf8' }).trim().split('\n');
  return found
    .filter((path) => path !== '.')
    .map((path) => path.slice(2))
    .toSorted();
}

/** Directories in each other, with a file at the bottom, made name by name: no path is as long. */
function nest(dir: string, name: string, levels: number): void {
  const program = `for (let n = 0; n < ${levels}; n += 1) { fs.mkdirSync('${name}'); process.chdir('${name}'); } fs.writeFileSync('f', 'deep')`;
  execFileSync(process.execPath, ['-e', program], { cwd: dir });
}

for (const procFd of process.platform === 'linux' ? [true, false] : [false]) {
  const by = procFd ? 'by its descriptor' : 'by its path';

  test(`a directory that becomes a link while it is copied brings in no file from outside, looked at ${by}`, async () => {
    await using at = await scene();
    await at.write('data/team/a/file', 'inside');
    await at.write('outside/a/file', 'of another user');
    const { left, files } = await at.copy({
      procFd,
      takes(path) {
        if (path !== join('team', 'a', 'file')) return true;
        renameSync(join(at.from, 'team'), join(at.dir.path, 'moved'));
        symlinkSync(at.outside, join(at.from, 'team'));
        return true;
      },
    });
    expect([left, files]).toEqual([expect.arrayContaining([expect.stringMatching(/^team\/a\/file \(became a link/)]), 0]);
    expect(at.names()).toEqual(['team', 'team/a']);
  });

  test(`a directory that became a link before it is read is named, and is no empty directory, looked at ${by}`, async () => {
    await using at = await scene();
    await at.write('data/team/a/file', 'inside');
    await at.write('outside/secret', 'of another user');
    const { left } = await at.copy({
      procFd,
      takes(path) {
        if (path !== join('team', 'a')) return true;
        renameSync(join(at.from, 'team/a'), join(at.dir.path, 'moved'));
        symlinkSync(at.outside, join(at.from, 'team/a'));
        return true;
      },
    });
    expect([left, at.names()]).toEqual([[expect.stringMatching(/^team\/a \(became a link/)], ['team']]);
  });

  test(`a directory that another one replaced is named when files of it are gone, looked at ${by}`, async () => {
    await using at = await scene();
    for (const name of ['a', 'b']) await at.write(`data/team/${name}`, 'inside');
    const { left } = await at.copy({
      procFd,
      takes(path) {
        if (path !== join('team', 'b')) return true;
        renameSync(join(at.from, 'team'), join(at.dir.path, 'moved'));
        mkdirSync(join(at.from, 'team'));
        return true;
      },
    });
    expect([left, at.names()]).toEqual([[expect.stringMatching(/^team \(became a link or was moved/)], ['team', 'team/a']]);
  });

  test(`a file that another one replaces at each look is copied, looked at ${by}`, async () => {
    await using at = await scene();
    await at.write('data/a', 'old');
    const takes = (path: string): boolean => {
      writeFileSync(join(at.from, '.new'), 'new');
      renameSync(join(at.from, '.new'), join(at.from, path));
      return true;
    };
    expect((await at.copy({ procFd, takes })).left).toEqual([]);
    expect(await readFile(join(at.to, 'a'), 'utf8')).toBe('new');
  });
}

test.skipIf(process.platform !== 'linux')('files, directories and links whose names are not UTF-8 are copied', async () => {
  await using at = await scene();
  const odd = (...path: string[]) => Buffer.from(join(at.from, ...path), 'latin1');
  await mkdir(odd('caf\xe9'));
  await writeFile(odd('caf\xe9', '\xfc'), 'words');
  await symlink(Buffer.from('\xfc', 'latin1'), odd('caf\xe9', '\xff'));
  expect(await at.copy()).toMatchObject({ files: 1, left: [] });
  const there = (...path: string[]) => Buffer.from(join(at.to, ...path), 'latin1');
  expect(await readFile(there('caf\xe9', '\xfc'), 'utf8')).toBe('words');
  expect(await readlink(there('caf\xe9', '\xff'), 'latin1')).toBe('\xfc');
});

test('lines that move into an archive which is made meanwhile are in the copy', async () => {
  await using at = await scene();
  const clock = new FakeClock();
  const store = openJsonlStore({ dir: at.from, clock, onDamage: () => undefined });
  const key = 'telegram:7';
  const line = (id: string) =>
    ({ id, role: 'user', content: `words of ${id}`, timestamp: new Date(clock.now()).toISOString() }) as const;
  await store.append(key, [line('first'), line('second')]);
  const takes = async (path: string): Promise<boolean> => {
    if (path.endsWith('default.jsonl')) await store.rewrite(key, [line('second')]);
    return true;
  };
  expect((await at.copy({ takes })).left).toEqual([]);
  const copied = openJsonlStore({ dir: at.to, clock, onDamage: () => undefined });
  const all = [...(await copied.archived(key)), ...((await copied.load(key))?.messages ?? [])];
  expect(new Set(all.map(({ id }) => id))).toEqual(new Set(['first', 'second']));
});

test('what lies too deep for a path is named, and the rest is copied', async () => {
  await using at = await scene();
  await at.write('data/a', 'words');
  await at.write('data/z', 'words');
  nest(at.from, 'd'.repeat(200), 25);
  const { left, files } = await at.copy();
  expect([files, left]).toEqual([2, [expect.stringMatching(/^d+\/[d/]+ \(its path is too long\)$/)]]);
});

test('what is too long only where it would be copied to is named, and the rest is copied', async () => {
  await using at = await scene();
  await at.write('data/z', 'words');
  const to = join(at.dir.path, 'x'.repeat(200));
  await mkdir(to);
  nest(at.from, 'd'.repeat(199), Math.floor((4_090 - at.from.length) / 200));
  const { left, files } = await at.copy({ to });
  expect([files, left]).toEqual([1, [expect.stringMatching(/\(its path would be too long in the copy\)$/)]]);
});

test('a file that is mostly empty takes no more room in the copy', async () => {
  await using at = await scene();
  await at.write('data/disk', 'begin');
  await truncate(join(at.from, 'disk'), 64 * 2 ** 20);
  execFileSync('sh', ['-c', 'printf end >> disk'], { cwd: at.from });
  expect(await at.copy()).toMatchObject({ files: 1, bytes: 64 * 2 ** 20 + 3, left: [] });
  expect((await readFile(join(at.to, 'disk'))).equals(await readFile(join(at.from, 'disk')))).toBe(true);
  expect((await lstat(join(at.to, 'disk'))).blocks).toBeLessThan(5 * 2 ** 11);
});

test('state on another disk keeps its links within, and one that leads out of it is named', async () => {
  await using at = await scene();
  await at.write('data/users/ada', 'words');
  await at.write('outside/team/a/file', 'on another disk');
  await at.write('secret', 'of another user');
  await symlink(join(at.outside, 'team'), join(at.from, 'team'));
  await symlink('file', join(at.outside, 'team/a/near'));
  await symlink(join(at.outside, 'team/a'), join(at.outside, 'team/whole'));
  await symlink(join(at.from, 'users/ada'), join(at.outside, 'team/back'));
  await symlink('../../secret', join(at.outside, 'team/out'));
  const { left } = await at.copy();
  expect(left).toEqual(['team/out (a link to ../../secret)']);
  expect(at.names()).toEqual(
    ['users', 'users/ada', 'team', 'team/a', 'team/a/file', 'team/a/near', 'team/back', 'team/whole'].toSorted(),
  );
  expect(await readlink(join(at.to, 'team/a/near'))).toBe('file');
});

test('a link at the top that leads within is copied as a link, and one to a directory above is named', async () => {
  await using at = await scene();
  await at.write('data/users/ada', 'words');
  for (const [name, way] of Object.entries({ people: 'users', loop: '.', up: '..' })) await symlink(way, join(at.from, name));
  const { left, files } = await at.copy();
  expect([left, files]).toEqual([['up (a link to ..)'], 1]);
  expect(at.names()).toEqual(['loop', 'people', 'users', 'users/ada']);
  expect([await readlink(join(at.to, 'people')), await readlink(join(at.to, 'loop'))]).toEqual(['users', '.']);
});

test('a link whose name another thing has by now is judged by where it led when it was read', async () => {
  await using at = await scene();
  await at.write('data/team/a', 'words');
  await symlink(at.outside, join(at.from, 'team/z'));
  const takes = (path: string): boolean => {
    if (path !== join('team', 'z')) return true;
    rmSync(join(at.from, path));
    mkdirSync(join(at.from, path));
    return true;
  };
  expect((await at.copy({ takes })).left).toEqual([`team/z (a link to ${at.outside})`]);
  expect(namesIn(at.to)).toEqual(['team', 'team/a']);
});

test('a copy that lies in what is copied is no part of itself', async () => {
  await using at = await scene();
  await at.write('data/a', 'words');
  const to = join(at.from, 'copies/today');
  await mkdir(to, { recursive: true });
  expect(await at.copy({ to })).toMatchObject({ files: 1, left: [] });
  expect(namesIn(to)).toEqual(['a', 'copies']);
});

test('a file that would take hours to read, and holds next to nothing, is named', async () => {
  await using at = await scene();
  await at.write('data/a', 'words');
  await at.write('data/disk', 'words');
  await truncate(join(at.from, 'disk'), 2 ** 40);
  const { files, left } = await at.copy();
  expect([files, left]).toEqual([1, ['disk (1100 GB by its size, and almost empty)']]);
  expect(namesIn(at.to)).toEqual(['a']);
});
