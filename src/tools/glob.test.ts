import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { leastCpuMs } from '../testing/cpu-time.ts';
import { tempDir } from '../testing/fakes.ts';
import { toolCall } from '../testing/tool-scope.ts';
import { findPaths, globTool } from './glob.ts';
import { GlobPattern } from './glob-pattern.ts';
import { runTool } from './run.ts';

const FILES = [
  'a.ts',
  'b.test.ts',
  'src/a.ts',
  'src/b.tsx',
  'src/deep/c.ts',
  'src/deep/er/d.js',
  '.env',
  '.github/x.yml',
  'grüße😀.md',
  '[x].md',
];

async function setUp(files: readonly string[] = FILES) {
  const dir = await tempDir();
  for (const file of files) {
    await mkdir(join(dir.path, dirname(file)), { recursive: true });
    await writeFile(join(dir.path, file), '');
  }
  const context = toolCall({ workspace: dir.path });
  const glob = async (pattern: string, limit?: number) =>
    (
      await runTool(globTool, JSON.stringify({ pattern, ...(limit === undefined ? {} : { limit }) }), context, {
        timeoutMs: 10_000,
      })
    ).output;
  return { path: dir.path, glob, context, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

test.each([
  ['*.ts', ['a.ts', 'b.test.ts']],
  ['./src//*', ['src/a.ts', 'src/b.tsx', 'src/deep/']],
  ['**/*.ts', ['a.ts', 'b.test.ts', 'src/a.ts', 'src/deep/c.ts']],
  ['src/**/*.{ts,tsx}', ['src/a.ts', 'src/b.tsx', 'src/deep/c.ts']],
  ['src/**/**/d.js', ['src/deep/er/d.js']],
  ['**/{a,src/{x,b}}.ts*', ['a.ts', 'src/a.ts', 'src/b.tsx']],
  ['?.ts', ['a.ts']],
  ['[a-b]*.ts', ['a.ts', 'b.test.ts']],
  ['[!a]*.ts', ['b.test.ts']],
  ['[]x].md', ['(no match)']],
  ['[[]x].md', ['[x].md']],
  ['gr??e?.md', ['grüße😀.md']],
  ['*.yml', ['(no match)']],
  ['**/*.yml', ['(no match)']],
  ['.github/*.yml', ['.github/x.yml']],
  ['.*', ['.env', '.github/']],
  ['src/deep/er/d.js', ['src/deep/er/d.js']],
  ['src/a.ts/*', ['(no match)']],
])('%s finds %j', async (pattern, expected) => {
  await using at = await setUp();
  expect((await at.glob(pattern)).split('\n')).toEqual(expected);
});

test.each([
  ['/etc/*', 'relative to the workspace'],
  ['~/x', 'relative to the workspace'],
  ['..\\*', 'relative to the workspace'],
  ['../*', 'leaves the workspace'],
  ['a/../../*', 'leaves the workspace'],
  ['{a,..}/*', 'leaves the workspace'],
  ['{a,/etc}/*', 'relative to the workspace'],
  ['./', 'is empty'],
  ['', 'pattern: '],
  ['{a,b}'.repeat(6), 'more than 32 alternatives'],
  ['a/'.repeat(41), 'more than 40 names'],
  ['x'.repeat(1_001), 'longer than 1000'],
])('A20 the pattern %j is refused: %s', async (pattern, reason) => {
  await using at = await setUp();
  expect(await at.glob(pattern)).toMatch(/^Error: /);
  expect(await at.glob(pattern)).toContain(reason);
});

test('A21 a link is shown and never followed, out of the workspace or around in it', async () => {
  await using at = await setUp(['in/x']);
  await symlink('/', join(at.path, 'root'));
  await symlink('.', join(at.path, 'in/again'));
  expect((await at.glob('**')).split('\n')).toEqual([
    'in/',
    'in/again (symbolic link, not followed)',
    'in/x',
    'root (symbolic link, not followed)',
  ]);
  expect(await at.glob('root/etc/*')).toBe('(no match)');
});

test('lists so many as were asked for, in the order of their paths, and counts the others', async () => {
  await using at = await setUp(Array.from({ length: 120 }, (_, i) => `f${String(i).padStart(3, '0')}`));
  const lines = (await at.glob('*')).split('\n');
  expect([lines[0], lines[99], lines[100]]).toEqual(['f000', 'f099', '[20 more matches not shown]']);
  expect((await at.glob('*', 2)).split('\n')).toEqual(['f000', 'f001', '[118 more matches not shown]']);
});

test('a name with a line feed stays one line', async () => {
  await using at = await setUp(['a\nb']);
  expect(await at.glob('*')).toBe('"a\\nb"');
});

test('a search ends with its limits of names, depth and time, and says which; and with its signal', async () => {
  await using at = await setUp([...Array.from({ length: 50 }, (_, i) => `f${i}`), 'd/e/f/g']);
  const limits = { entries: 1_000, depth: 32, ms: 1_000, signal: at.context.signal };
  const found = (more: Partial<Parameters<typeof findPaths>[2]>) =>
    findPaths(at.path, new GlobPattern('**/*'), { ...limits, ...more });
  expect((await found({})).stopped).toBeUndefined();
  expect((await found({ entries: 20 })).stopped).toBe('it has more than 20 names');
  const deep = await found({ depth: 2 });
  expect(deep.stopped).toBe('it is deeper than 2 directories');
  expect(deep.paths).toContain('d/e/');
  expect(deep.paths).not.toContain('d/e/f/');
  let now = 0;
  expect((await found({ clock: { monotonic: () => (now += 100) } })).stopped).toBe('it took longer than 1 s');
  await expect(found({ signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow('stopped');
});

test('A45 no pattern makes a name take long', () => {
  const pattern = new GlobPattern(`${'*a'.repeat(100)}*b`);
  expect(leastCpuMs(50, () => pattern.enter(pattern.start, 'a'.repeat(255)))).toBeLessThan(50);
  const many = new GlobPattern(`${'**/*a*/'.repeat(19)}{${'x,'.repeat(31)}y}`);
  const walk = () => {
    let state = many.start;
    for (let i = 0; i < 32; i += 1) state = many.enter(state, 'a'.repeat(255)).below;
  };
  expect(leastCpuMs(500, walk)).toBeLessThan(500);
});
