import { execFile } from 'node:child_process';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempDir } from '../fakes.ts';

const HOOK = join(import.meta.dirname, 'resolved.ts');

test('what one start looked up the next one does not, and both run the same files', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'resolved.json');
  const main = join(dir.path, 'main.mjs');
  await writeFile(join(dir.path, 'part.mjs'), 'export const where = import.meta.url;');
  await writeFile(
    main,
    "import { where } from './part.mjs'; console.log(where); if (process.argv[2]) await import(process.argv[2]);",
  );
  const run = async (...more: string[]) => {
    const env = { ...process.env, SWEEP_RESOLVED: file };
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', HOOK, main, ...more], { env });
    return [stdout.trim(), (await stat(file)).mtimeMs, JSON.parse(await readFile(file, 'utf8'))];
  };
  const first = await run();
  expect(first[0]).toMatch(/part\.mjs$/);
  expect(first[2]).toMatchObject({ [`file://${main}`]: { './part.mjs': { url: first[0] } } });
  // Nothing new, so nothing is written.
  expect(await run()).toEqual(first);
  const [, , more] = await run('node:zlib');
  expect(more[`file://${main}`]).toMatchObject({ './part.mjs': { url: first[0] }, 'node:zlib': { url: 'node:zlib' } });
});
