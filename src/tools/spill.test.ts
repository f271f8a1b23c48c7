import { execFile } from 'node:child_process';
import { link, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GatehouseError } from '../core/errors.ts';
import type { ClaimDisk } from '../core/ports.ts';
import { tempDir } from '../testing/fakes.ts';
import { toolCall } from '../testing/tool-scope.ts';
import { readFileTool } from './read-file.ts';
import { OutputSink, type SpillOptions } from './spill.ts';

const FOLDER = '.gatehouse/outputs';

async function setUp() {
  const dir = await tempDir();
  const context = toolCall({ workspace: dir.path });
  const spill = async (chunks: Iterable<string | Uint8Array>, options: Partial<SpillOptions> = {}) => {
    await using sink = new OutputSink({ name: 'shell', context, outputBytes: 1_000, ...options });
    for (const chunk of chunks) await sink.write(chunk);
    return await sink.end();
  };
  const stored = () => readdir(join(dir.path, FOLDER));
  return { path: dir.path, context, spill, stored, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

test('an output within the limit makes no file', async () => {
  await using at = await setUp();
  expect(await at.spill(['a', 'é'.repeat(490)])).toEqual({ output: `a${'é'.repeat(490)}` });
  expect(await at.spill([])).toEqual({ output: '' });
  expect(await readdir(at.path)).toEqual([]);
});

test('of a larger one head and tail are shown, and the file with all of it is named', async () => {
  await using at = await setUp();
  const text = `${'h'.repeat(50_000)}${'t'.repeat(50_000)}`;
  const { output, stored } = await at.spill([text]);
  expect(stored).toEqual({ path: expect.stringMatching(/^\.gatehouse\/outputs\/shell-[0-9a-f]+\.txt$/), bytes: 100_000 });
  expect(output).toMatch(
    /^h+\n\n\[\.\.\. \d+ bytes omitted; all 100000 bytes are in \S+: read_file pages it by start_line and end_line \.\.\.\]\n\nt+$/,
  );
  expect(output).toContain(stored?.path);
  expect(Buffer.byteLength(output)).toBeLessThanOrEqual(1_000 - 'Error: '.length);
  expect(await readFile(join(at.path, stored?.path ?? ''), 'utf8')).toBe(text);
  expect((await stat(join(at.path, stored?.path ?? ''))).mode & 0o777).toBe(0o600);
});

test.each([
  ['x', 'letters of one byte'],
  ['é𝄞', 'letters of two and of four'],
])('F31 an output of one line can be read to its end: %s, %s', async (letter) => {
  await using at = await setUp();
  const text = JSON.stringify(Array.from({ length: 6_000 }, (_, n) => `row ${n} ${letter.repeat(30)}`));
  const { stored } = await at.spill([text]);
  let read = '';
  for (let next = 1; next > 0; ) {
    const { output } = await readFileTool.run({ path: stored?.path, start_line: next }, at.context);
    // Also what is said of a character that was cut.
    const [said] = output.split('\n', 1);
    expect(said).toBe(
      '[lines of more than 16384 bytes are cut into pieces, each with a line number of its own: numbers of grep do not fit]',
    );
    read += output.match(/(?<=^\d+│ ).*$/gm)?.join('') ?? '';
    next = Number(/go on with start_line (\d+)\]$/.exec(output)?.[1] ?? 0);
  }
  expect(read === text).toBe(true);
});

test('lines of other files are numbered as they are, and so is a stored line that fills a piece', async () => {
  await using at = await setUp();
  await writeFile(join(at.path, 'own'), `${'a'.repeat(20_000)}\nlast`);
  expect((await readFileTool.run({ path: 'own', start_line: 2 }, at.context)).output).toBe('2│ last\n');
  const { stored } = await at.spill([`${'a'.repeat(16_384)}\n\nlast`]);
  const { output } = await readFileTool.run({ path: stored?.path, start_line: 2 }, at.context);
  expect(output).toBe('2│ \n3│ last\n');
});

test('however it comes in pieces, the file holds every byte, and what is shown adds up to its size', async () => {
  await using at = await setUp();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: 'grapheme', maxLength: 3_000 }), { maxLength: 20 }), async (pieces) => {
      const chunks = pieces.map((piece) => Buffer.from(piece.toWellFormed().replaceAll('\ufffd', 'x')));
      const all = Buffer.concat(chunks);
      const { output, stored } = await at.spill(chunks);
      expect(output).not.toContain('\ufffd');
      if (!stored) {
        expect(output).toBe(all.toString());
        return;
      }
      expect(await readFile(join(at.path, stored.path))).toEqual(all);
      const [, head = '', omitted = '', tail = ''] =
        /^([\s\S]*)\n\n\[\.\.\. (\d+) bytes omitted; [^\n]*\n\n([\s\S]*)$/.exec(output) ?? [];
      expect(all.toString().startsWith(head) && all.toString().endsWith(tail)).toBe(true);
      expect(Buffer.byteLength(head) + Number(omitted) + Buffer.byteLength(tail)).toBe(all.length);
    }),
    { numRuns: 100 },
  );
});

test('a second attempt at the call writes the same file anew', async () => {
  await using at = await setUp();
  await at.spill(['first '.repeat(1_000)]);
  const { stored } = await at.spill(['second '.repeat(500)]);
  expect(await readFile(join(at.path, stored?.path ?? ''), 'utf8')).toBe('second '.repeat(500));
  expect(await at.stored()).toHaveLength(1);
});

test('A21 a link or a second name that waits in place of the file is taken away, not written through', async () => {
  await using at = await setUp();
  const { stored } = await at.spill(['x'.repeat(5_000)]);
  const file = join(at.path, stored?.path ?? '');
  const victim = join(at.path, 'victim');
  for (const trap of [symlink, link]) {
    await writeFile(victim, 'untouched');
    await rm(file);
    await trap(victim, file);
    await at.spill(['y'.repeat(5_000)]);
    expect(await readFile(victim, 'utf8')).toBe('untouched');
    expect(await readFile(file, 'utf8')).toBe('y'.repeat(5_000));
  }
});

test('A21 a directory of outputs that is a link is not used, and the output says that the rest is lost', async () => {
  await using at = await setUp();
  await using outside = await tempDir();
  await symlink(outside.path, join(at.path, '.gatehouse'));
  const { output, stored } = await at.spill(['x'.repeat(5_000)]);
  expect(stored).toBeUndefined();
  expect(output).toContain('which are lost: the file of outputs could not be written');
  expect(await readdir(outside.path)).toEqual([]);
});

test('where the quota ends the file ends, and the output says where and why', async () => {
  await using at = await setUp();
  const MIB = 1024 ** 2;
  const kept: number[] = [];
  const quota =
    (room: number): ClaimDisk =>
    async () => ({
      cover: async (bytes) => {
        if (bytes > room)
          throw new GatehouseError('GH1508', 'there is no room for the file: files of this chat may take up 2 MB');
      },
      stored: (bytes) => void kept.push(bytes),
      [Symbol.dispose]: () => undefined,
    });
  const chunks = Array.from({ length: 5 }, () => 'x'.repeat(MIB));
  const { output, stored } = await at.spill(chunks, { claimDisk: quota(2 * MIB) });
  expect(output).toContain(`the first ${2 * MIB} of ${5 * MIB} bytes are in`);
  expect(output).toContain('may take up 2 MB (GH1508)');
  expect((await stat(join(at.path, stored?.path ?? ''))).size).toBe(2 * MIB);
  expect(kept).toEqual([2 * MIB]);
});

test('a call that is over stores nothing more, and still has head and tail', async () => {
  await using at = await setUp();
  const context = { ...at.context, signal: AbortSignal.abort(new Error('over')) };
  const { output, stored } = await at.spill(['x'.repeat(5_000)], { context });
  expect(stored).toBeUndefined();
  expect(output).toMatch(/^x+[\s\S]*which are lost: the call was ended[\s\S]*x+$/);
});

test('of the files of a workspace the oldest go, beyond fifty or half a GiB', async () => {
  await using at = await setUp();
  await mkdir(join(at.path, FOLDER), { recursive: true });
  for (let i = 0; i < 60; i += 1) {
    const old = join(at.path, FOLDER, `old-${String(i).padStart(2, '0')}`);
    await writeFile(old, '');
    await utimes(old, 1_000 + i, 1_000 + i);
  }
  await at.spill(['x'.repeat(5_000)]);
  const names = await at.stored();
  expect(names).toHaveLength(50);
  expect(names).toContain('old-59');
  expect(names).not.toContain('old-10');
});

test('F31 100 MB of output cost less than 30 MB of memory, streamed and paged', { timeout: 120_000 }, async () => {
  await using at = await setUp();
  await writeFile(join(at.path, 'warm'), 'x\n'.repeat(1_000));
  const script = join(import.meta.dirname, '../testing/spill-process.ts');
  let least = Number.POSITIVE_INFINITY;
  // On a busy machine garbage lies about longer: the lowest of three runs is what it costs.
  for (let run = 0; run < 3 && least >= 30; run += 1) {
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script, at.path]);
    const { grownMb, shownBytes, stored, page } = JSON.parse(stdout);
    expect(stored.bytes).toBe(100_000_000);
    expect(shownBytes).toBeLessThanOrEqual(30_000);
    expect(page).toMatch(/^999999│ x+/);
    least = Math.min(least, grownMb);
  }
  expect(least).toBeLessThan(30);
});
