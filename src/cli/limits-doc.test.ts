import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHANNELS } from '../../channels/registry.ts';
import { packageRoot } from '../lib/package-info.ts';
import { renderLimitsDoc } from './limits-doc.ts';

test('docs/limits.md is what the channels say (else run: npm run generate)', async () => {
  expect(await readFile(join(packageRoot(), 'docs', 'limits.md'), 'utf8')).toBe(await renderLimitsDoc());
});

test('a fact names its page by address, quoted words and day, or says that it is unverified', async () => {
  const descriptors = await Promise.all(Object.values(CHANNELS).map((load) => load()));
  const facts = descriptors.flatMap(({ platformLimits = {} }) => Object.values(platformLimits));
  expect(facts.length).toBeGreaterThan(70);
  for (const { what, value, page } of facts) {
    expect({ what, isRight: value > 0 && !what.endsWith('.') }).toEqual({ what, isRight: true });
    if (!page) continue;
    expect([what, URL.canParse(page.address), page.words.length > 4]).toEqual([what, true, true]);
    expect(page.read).toMatch(/^20\d\d-\d\d-\d\d$/);
  }
  expect((await renderLimitsDoc()).split('unverified').length).toBeGreaterThan(5);
});
