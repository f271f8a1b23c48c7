/** What an erasure leaves that is broken off between two files. */
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { RedactRule } from '../src/core/session.ts';
import { tempDir } from '../src/testing/fakes.ts';
import { message } from './contract.ts';
import { redactFiles } from './redact.ts';
import { formatFile, newHeader } from './session-file.ts';

const rule: RedactRule = async () => (line) => (line.content.includes('secret') ? { ...line, content: '[erased]' } : undefined);
const header = newHeader('_main:cli:me', 0, { summary: '[from Eve] a secret' });
const SECRET = formatFile(header, [{ ...message(0), content: 'a secret' }]);
/** More than the 4 KiB that a write of the child may have. */
const LARGE = formatFile(header, [{ ...message(1), content: 'x'.repeat(8_000) }]);

async function placed(dir: string, archive: string, session: string): Promise<readonly string[]> {
  const paths = [join(dir, 's.archive.jsonl'), join(dir, 's.jsonl'), join(dir, 's.quarantine.jsonl')];
  await writeFile(paths[0] ?? '', archive);
  await writeFile(paths[1] ?? '', session);
  return paths;
}

async function left(paths: readonly string[]): Promise<string> {
  return (await Promise.all(paths.map((path) => readFile(path, 'utf8').catch(() => '')))).join('');
}

/** As the daemon does it where files may not grow beyond 4 KiB. Says how it failed. */
function redactOnFullDisk(dir: string): string {
  const script = `
    import { redactFiles } from ${JSON.stringify(fileURLToPath(new URL('./redact.ts', import.meta.url)))};
    const rule = async () => (line) => line.content.includes('secret') ? { ...line, content: '[erased]' } : undefined;
    await redactFiles(process.argv[1] + '/s', rule).then(() => console.log('done'), (error) => console.log(error.code));`;
  const node = [process.execPath, '--input-type=module', '-e', script, dir];
  return execFileSync('/bin/sh', ['-c', 'ulimit -f 8; exec "$@"', 'sh', ...node], { encoding: 'utf8' }).trim();
}

describe('a redaction that was broken off between two files is done whole by the next one', () => {
  test.each([
    ['only the archive has lines to change', SECRET, LARGE],
    ['only the session has lines to change', LARGE, SECRET],
  ])('where %s', async (_where, archive, session) => {
    await using dir = await tempDir();
    const paths = await placed(dir.path, archive, session);
    await writeFile(paths[2] ?? '', 'torn secret\n');
    expect(redactOnFullDisk(dir.path)).toBe('EFBIG');
    expect(await redactFiles(join(dir.path, 's'), rule)).toEqual({ changed: 1, left: 1 });
    expect(await left(paths)).not.toContain('secret');
    expect(await left(paths)).toContain('[erased]');
  });

  test('where the quarantine cannot be removed', async () => {
    await using dir = await tempDir();
    const paths = await placed(dir.path, SECRET, SECRET);
    await mkdir(paths[2] ?? '');
    await expect(redactFiles(join(dir.path, 's'), rule)).rejects.toThrow();
    await rmdir(paths[2] ?? '');
    await writeFile(paths[2] ?? '', 'torn secret\n');
    await redactFiles(join(dir.path, 's'), rule);
    expect(await left(paths)).not.toContain('secret');
  });
});

describe('what could not be read of a session of which no line changes', () => {
  test.each([
    ['goes where it is of the person', true, ''],
    ['stays where it is of another', false, 'torn'],
  ])('%s', async (_what, isTheirs, after) => {
    await using dir = await tempDir();
    const paths = await placed(dir.path, '', LARGE);
    await writeFile(paths[2] ?? '', 'torn');
    await redactFiles(join(dir.path, 's'), rule, (text) => isTheirs && text === 'torn');
    expect(await readFile(paths[2] ?? '', 'utf8').catch(() => '')).toBe(after);
  });
});
