import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cpuMs } from '../testing/cpu-time.ts';
import { tempDir } from '../testing/fakes.ts';
import { onlyTool, toolCall } from '../testing/tool-scope.ts';
import { applyHunks } from './apply-hunks.ts';
import { diffEdit } from './diff-edit.ts';
import { runTool } from './run.ts';
import { parseUnifiedDiff } from './unified-diff.ts';

const apply = (text: string, diff: string) => applyHunks(text, parseUnifiedDiff(diff));
const TEN = Array.from({ length: 10 }, (_, i) => `line ${i + 1}\n`).join('');
const swap = (line: number, at = line) =>
  `@@ -${at},3 +${at},3 @@\n line ${line}\n-line ${line + 1}\n+LINE ${line + 1}\n line ${line + 2}\n`;

describe('a hunk is found', () => {
  test.each([-3, -2, -1, 0, 1, 2, 3])('%i lines from where its header says', (offset) => {
    expect(apply(TEN, swap(5, 5 + offset))).toBe(TEN.replace('line 6', 'LINE 6'));
  });

  test.each([-4, 4])('not %i lines from there, and the answer says where its lines stand', (offset) => {
    expect(() => apply(TEN, swap(5, 5 + offset))).toThrow(/does not fit within 3 lines of line \d; its lines stand at line 5/);
  });

  test('with other blanks at the ends of lines, which stay as the file has them', () => {
    expect(apply('one  \ntwo\t\nthree\n', '@@ -1,3 +1,3 @@\n one\n-two\n+2\n three   \n')).toBe('one  \n2\nthree\n');
    expect(() => apply('  one\n', '@@ -1 +1 @@\n-one\n+1\n')).toThrow('it wants "one" where line 1 has "  one"');
  });

  test('at its own line where others fit too, and nowhere when two are as near', () => {
    expect(apply('x\nx\nx\n', '@@ -2 +2 @@\n-x\n+y\n')).toBe('x\ny\nx\n');
    expect(() => apply('x\nz\nx\n', '@@ -2 +2 @@\n-x\n+y\n')).toThrow('fits at line 1 and at line 3: give more context');
  });

  test('when its counts are wrong, when a blank before an empty line was lost, and below words of the model', () => {
    expect(apply('a\n\nb\n', 'Here is the diff:\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@ function\n a\n\n-b\n+c\n\n')).toBe('a\n\nc\n');
    expect(apply('-- a\nb\n', '@@ -1,2 +1,1 @@\n--- a\n b\n')).toBe('b\n');
  });
});

test('several hunks are applied, in any order, or none', () => {
  const both = TEN.replace('line 2', 'LINE 2').replace('line 9', 'LINE 9');
  expect(apply(TEN, swap(1) + swap(8))).toBe(both);
  expect(apply(TEN, swap(8) + swap(1))).toBe(both);
  expect(() => apply(TEN, swap(1) + swap(8).replace('-line 9', '-other'))).toThrow(
    /hunk 2 .*wants "other" where line 9 has "line 9"/,
  );
  expect(() => apply(TEN, swap(1) + swap(3))).toThrow('hunks 1 and 2 overlap');
});

describe('refused with the reason', () => {
  test.each([
    ['no hunk', 'just words', 'has no hunk'],
    ['nothing', '', 'has no hunk'],
    ['an addition without context', '@@ -3,0 +4,1 @@\n+new\n', 'hunk 1 has no context'],
    ['a hunk that changes nothing', '@@ -1 +1 @@\n line 1\n', 'hunk 1 changes nothing'],
    ['a hunk without lines', '@@ -1 +1 @@\n', 'hunk 1 changes nothing'],
    ['a new file', '--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n', 'use write_file'],
    [
      'a new file of git',
      'diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n',
      'use write_file',
    ],
    ['a deleted file', '--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-line 1\n', 'deletes the file'],
    ['a rename', 'rename from a\nrename to b\n', 'renames'],
    ['a mode', 'old mode 100644\nnew mode 100755\n', 'changes the mode'],
    ['a binary file', 'Binary files a/x and b/x differ\n', 'binary'],
    ['two files', `--- a/x\n+++ b/x\n${swap(1)}--- a/y\n+++ b/y\n${swap(3)}`, 'more than one file'],
    ['a line without a sign', '@@ -1 +1 @@\n-line 1\nline one\n', 'begins with "l"'],
    ['a header that is none', `${swap(1)}@@ nonsense\n`, 'hunk 2 begins with'],
    ['numbers beyond reason', '@@ -999999999999999 +1 @@\n-line 1\n+x\n', 'hunk 1 begins with'],
    ['a line beyond the end', '@@ -500 +500 @@\n-none\n+x\n', 'line 500 is beyond the end (10 lines)'],
  ])('%s', (_, diff, reason) => {
    expect(() => apply(TEN, diff)).toThrow(reason);
  });
});

describe('line ends', () => {
  const diff = '@@ -1,2 +1,3 @@\n a\n-b\n+B\n+C\n';
  test.each([
    ['of Windows stay where the diff has none', 'a\r\nb\r\n', diff, 'a\r\nB\r\nC\r\n'],
    ['of Windows that the diff shows are taken as it shows them', 'a\r\nb\r\n', '@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\n', 'a\r\nB\n'],
    ['of the diff itself are not those of the file', 'a\nb\n', diff.replaceAll('\n', '\r\n'), 'a\nB\nC\n'],
    ['at the end of the file are not added where the diff does not say so', 'a\nb', diff, 'a\nB\nC'],
    ['are added where lines come behind an open one', 'a\nb', '@@ -2 +2,2 @@\n b\n+c\n', 'a\nb\nc'],
    ['of Windows likewise', 'a\r\nb', '@@ -1,2 +1,3 @@\n a\n b\n+c\n', 'a\r\nb\r\nc'],
    ['at the end are added where the diff says so', 'a\nb', '@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n', 'a\nb\n'],
    ['at the end are taken away where the diff says so', 'a\nb\n', '@@ -2 +2 @@\n-b\n+b\n\\ No newline at end of file\n', 'a\nb'],
    ['do not matter in a file that was empty', '', '@@ -0,0 +1,2 @@\n+a\n+b\n', 'a\nb\n'],
    ['do not matter in a file that becomes empty', 'a\nb\n', '@@ -1,2 +0,0 @@\n-a\n-b\n', ''],
  ])('%s', (_, text, patch, expected) => {
    expect(apply(text, patch)).toBe(expected);
  });
});

const run = promisify(execFile);
const line = fc.constantFrom(
  'a',
  'b',
  '',
  ' ',
  'x\t',
  '-- a',
  '++ b',
  '@@ -1 +1 @@',
  '\\ No newline at end of file',
  'grüße 😀',
  'c\r',
  '\r',
  '--- a',
);
const file = fc
  .tuple(fc.array(line, { maxLength: 25 }), fc.boolean())
  .map(([lines, open]) => lines.join('\n') + (open ? '' : '\n'));

/** Half of the pairs have most lines in common, as edits do. */
const pair = fc
  .tuple(file, file, fc.array(fc.nat(30), { maxLength: 3 }))
  .map(([a, other, cuts]): readonly [string, string] => {
    const cut = (text: string, at: number) => `${text.slice(0, at)}y\n${text.slice(at + 1)}`;
    return [a, cuts.length === 0 ? other : cuts.reduce(cut, a).toWellFormed()];
  })
  .filter(([a, b]) => a !== b);

test('what `diff -u a b` says of two files makes b of a, 500 pairs', { timeout: 120_000 }, async () => {
  const tool = onlyTool(diffEdit);
  const turnsInto = async (pairs: readonly (readonly [string, string])[]) => {
    await using dir = await tempDir();
    for (const side of ['a', 'b']) await mkdir(join(dir.path, side));
    for (const [i, [a, b]] of pairs.entries()) {
      await writeFile(join(dir.path, `a/${i}`), a);
      await writeFile(join(dir.path, `b/${i}`), b);
    }
    // Ends with 1 where files differ. One program for many pairs: to start it is what takes long.
    const { stdout } = await run('diff', ['-aru', 'a', 'b'], { cwd: dir.path }).catch((error: { stdout: string }) => error);
    const diffs = new Map(
      Array.from(stdout.matchAll(/^diff -aru a\/(\d+) [^\n]*\n((?:(?!diff -aru )[^\n]*\n)*)/gm), ([, i, diff]) => [
        Number(i),
        diff,
      ]),
    );
    expect(diffs.size).toBe(pairs.length);
    const context = toolCall({ workspace: dir.path });
    for (const [i, [, b]] of pairs.entries()) {
      const args = JSON.stringify({ path: `a/${i}`, diff: diffs.get(i) });
      expect(await runTool(tool, args, context, { timeoutMs: 10_000 })).toMatchObject({ ok: true });
      expect(await readFile(join(dir.path, `a/${i}`), 'utf8')).toBe(b);
    }
  };
  await fc.assert(fc.asyncProperty(fc.array(pair, { minLength: 25, maxLength: 25 }), turnsInto), { numRuns: 20 });
});

test('a hunk that does not fit leaves the file as it was', async () => {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'a'), TEN);
  const args = JSON.stringify({ path: 'a', diff: swap(1) + swap(20) });
  const result = await runTool(onlyTool(diffEdit), args, toolCall({ workspace: dir.path }), { timeoutMs: 10_000 });
  expect(result).toMatchObject({ ok: false, output: expect.stringContaining('hunk 2') });
  expect(await readFile(join(dir.path, 'a'), 'utf8')).toBe(TEN);
});

test.each([
  ['of like lines', 'a\n'.repeat(20_000), `@@ -1,10001 +1,10001 @@\n${' a\n'.repeat(10_000)}-b\n+c\n`],
  ['whose one line ends in blanks', `b${' '.repeat(1_000_000)}`, '@@ -1 +1 @@\n-b\n+c\n'.repeat(5_000)],
])('A45 where a hunk may stand else is looked for in bounded time, in a file %s too', (_, text, diff) => {
  const hunks = parseUnifiedDiff(diff);
  const before = cpuMs();
  expect(() => applyHunks(text, hunks)).toThrow(/does not fit|overlap/);
  expect(cpuMs() - before).toBeLessThan(1_000);
});
