import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ERROR_CODES } from '../core/error-codes.ts';
import { packageRoot } from '../lib/package-info.ts';
import { renderErrorsDoc } from './errors-doc.ts';

test('docs/errors.md is what the table of codes says (else run: node src/cli/write-generated.ts)', async () => {
  expect(await readFile(join(packageRoot(), 'docs', 'errors.md'), 'utf8')).toBe(renderErrorsDoc());
});

test('every code has a line of its own with title and hint', () => {
  const doc = renderErrorsDoc();
  for (const [code, { title }] of Object.entries(ERROR_CODES)) expect(doc).toContain(`| ${code} | ${title} |`);
});

test('every code is said somewhere in the program', async () => {
  const listed = ['src', 'channels', 'config', 'sessions'].map(async (dir) =>
    (await readdir(join(packageRoot(), dir), { recursive: true })).map((name) => join(dir, name)),
  );
  const isShipped = (name: string) => name.endsWith('.ts') && !/\.test\.ts$|^src\/testing\/|\/error-codes\.ts$/.test(name);
  const shipped = (await Promise.all(listed)).flat().filter(isShipped);
  const all = (await Promise.all(shipped.map((name) => readFile(join(packageRoot(), name), 'utf8')))).join('\n');
  expect(Object.keys(ERROR_CODES).filter((code) => !all.includes(code))).toEqual([]);
});
