import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { removeTree } from './remove-tree.ts';

const OTHER = 65_534;
const isRoot = process.getuid?.() === 0;

/** In a process of its own, as a user whom permissions bind; gives what it says on standard error. */
function ran(body: string): string {
  const module = new URL('./remove-tree.ts', import.meta.url).href;
  const program = `import { unlink } from 'node:fs/promises';
    const { removeTree, writeIn } = await import(${JSON.stringify(module)}); ${body}`;
  const user = isRoot ? { uid: OTHER, gid: OTHER } : {};
  return spawnSync(process.execPath, ['--input-type=module', '-e', program], { ...user, encoding: 'utf8' }).stderr;
}

const removed = (path: string): string => ran(`await removeTree(${JSON.stringify(path)});`);

/** A tree with a file, whose directories all have this mode. */
async function closedTree(at: string, mode: number): Promise<string> {
  const tree = join(at, 'tree');
  const paths = [tree, join(tree, 'mod'), join(tree, 'mod/pkg'), join(tree, 'mod/pkg/file.go')];
  await mkdir(join(tree, 'mod/pkg'), { recursive: true });
  await writeFile(join(tree, 'mod/pkg/file.go'), 'x', { mode: 0o444 });
  if (isRoot) for (const path of [at, ...paths]) await chown(path, OTHER, OTHER);
  for (const path of paths.slice(0, 3).reverse()) await chmod(path, mode);
  return tree;
}

test.each(['555', '500', '0'])('a tree whose directories have the mode %s is removed by who owns it', async (mode) => {
  await using dir = await tempDir();
  const tree = await closedTree(dir.path, Number.parseInt(mode, 8));
  expect([removed(tree), existsSync(tree)]).toEqual(['', false]);
});

test('what a link leads to keeps its mode and its files', async () => {
  await using dir = await tempDir();
  const tree = await closedTree(dir.path, 0o755);
  const elsewhere = join(dir.path, 'elsewhere');
  await mkdir(elsewhere);
  await writeFile(join(elsewhere, 'kept'), 'x');
  if (isRoot) await chown(elsewhere, OTHER, OTHER);
  await chmod(elsewhere, 0o555);
  await symlink(elsewhere, join(tree, 'mod/link'));
  await chmod(join(tree, 'mod'), 0o555);
  expect([removed(tree), existsSync(tree)]).toEqual(['', false]);
  expect([(await stat(elsewhere)).mode & 0o777, await readdir(elsewhere)]).toEqual([0o555, ['kept']]);
  await chmod(elsewhere, 0o755);
});

test.skipIf(!isRoot)('what another user owns stays, and the error of the system says so', async () => {
  await using dir = await tempDir();
  const tree = await closedTree(dir.path, 0o755);
  await chown(join(tree, 'mod/pkg'), 0, 0);
  expect(removed(tree)).toContain('EACCES');
  expect((await stat(join(tree, 'mod/pkg'))).mode & 0o777).toBe(0o755);
});

test('nothing is no failure', async () => {
  await using dir = await tempDir();
  await removeTree(join(dir.path, 'none'));
});

test('a file is removed also from a directory in which its owner may not write', async () => {
  await using dir = await tempDir();
  const self = join(await closedTree(dir.path, 0o555), 'mod/pkg');
  const file = join(self, 'file.go');
  expect(ran(`await writeIn({ self: ${JSON.stringify(self)} }, () => unlink(${JSON.stringify(file)}));`)).toBe('');
  expect(existsSync(file)).toBe(false);
});

test.skipIf(!isRoot)('in a directory of another user it fails as the system said at first', async () => {
  await using dir = await tempDir();
  const self = join(await closedTree(dir.path, 0o755), 'mod/pkg');
  await chown(self, 0, 0);
  const said = ran(`await writeIn({ self: ${JSON.stringify(self)} }, () => unlink(${JSON.stringify(join(self, 'file.go'))}));`);
  expect(said).toContain('EACCES');
  expect(said).not.toContain('EPERM');
});
