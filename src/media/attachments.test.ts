import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { pruneAttachments } from './attachments.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 29);

/** A folder of copies, each so many days old. */
async function copies(days: Readonly<Record<string, number>>) {
  const dir = await tempDir();
  const path = join(dir.path, 'outgoing');
  await mkdir(path);
  for (const [name, age] of Object.entries(days)) {
    await writeFile(join(path, name), 'x');
    await utimes(join(path, name), new Date(NOW - age * DAY_MS), new Date(NOW - age * DAY_MS));
  }
  return { path, left: async () => (await readdir(path)).sort(), [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

test('a copy that an answer still needs stays, however old it is', async () => {
  await using at = await copies({ held: 40, sent: 8, fresh: 6 });
  await pruneAttachments(at.path, NOW, async () => new Set(['held']));
  expect(await at.left()).toEqual(['fresh', 'held']);
});

test('what needs copies is asked only where one is old', async () => {
  await using at = await copies({ fresh: 6 });
  await pruneAttachments(at.path, NOW, () => Promise.reject(new Error('asked')));
  await pruneAttachments(join(at.path, 'none'), NOW, () => Promise.reject(new Error('asked')));
  expect(await at.left()).toEqual(['fresh']);
});
