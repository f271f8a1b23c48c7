import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHANNELS } from '../../channels/registry.ts';
import { packageRoot } from '../lib/package-info.ts';
import { tempDir } from '../testing/fakes.ts';
import { renderChannelPages } from './channels-doc.ts';

const pages = await renderChannelPages(packageRoot());

test.each(pages)('$path has the tables its channels ask for (else run: npm run generate)', async ({ path, text }) => {
  expect(await readFile(join(packageRoot(), path), 'utf8')).toBe(text);
});

test('every registered channel has a row with its two classes, and a page with a row for each of its settings', async () => {
  const list = pages.find(({ path }) => path === 'channels/README.md')?.text ?? '';
  for (const [name, load] of Object.entries(CHANNELS)) {
    const { guarantee, settings } = await load();
    expect(list).toContain(`| [${name}](${name}/README.md) | ${guarantee.inbound}: `);
    const keys = 'shape' in settings ? Object.keys(settings.shape as object) : [];
    const own = pages.find(({ path }) => path === `channels/${name}/README.md`)?.text ?? '';
    for (const key of keys) expect(own).toContain(`| \`${key}\` | `);
  }
});

test('a page that does not say where its table goes is refused by name', async () => {
  await using root = await tempDir();
  await mkdir(join(root.path, 'channels'));
  await writeFile(join(root.path, 'channels/README.md'), '# Channels\n');
  await expect(renderChannelPages(root.path)).rejects.toThrow('channels/README.md does not say where its table goes');
});
