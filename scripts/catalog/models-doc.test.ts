import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CATALOG_AS_OF } from '../../src/llm/catalog/catalog.ts';
import { sample } from './sample.ts';

/** The day on which the pages were read. */
const READ_AT = Date.parse('2026-11-22');

const TEXT = readFileSync(join(import.meta.dirname, '../../docs/models.md'), 'utf8');
const ROWS = TEXT.split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| |(?: \|)$/g, '')));

test('docs/models.md has the forty models that the seed draws from the defaults and what may take their place', () => {
  expect(ROWS.map(([id]) => id)).toEqual(sample(READ_AT).map(({ id }) => `\`${id}\``));
  expect(ROWS).toHaveLength(40);
});

test.each(sample(READ_AT).map(({ id, row }, at) => [id, row, ROWS[at]] as const))(
  '%s stands there as in the catalog',
  (_id, row, cells) => {
    const [, price, limits, page = '', words = ''] = cells ?? [];
    const { guess, in: input, out: output } = row.price ?? { in: 0, out: 0 };
    expect(price).toBe(`${guess ? 'at most ' : ''}${input} / ${output}`);
    expect(limits).toBe(`${row.window} / ${row.output}`);
    expect(words.length).toBeGreaterThan(15);
    // What no page could be read for is an upper bound, and only that.
    if (guess) expect(page).toBe('*unverified*');
    else expect(page).toMatch(/^https:\/\/\S+$/);
  },
);

test('a page that states a price has both of its figures among the quoted words', () => {
  for (const [id, price = '', , page, words = ''] of ROWS) {
    // The fast variant is stated as the double of another price.
    if (page === '*unverified*' || id === '`moonshot/kimi-k2.7-code-highspeed`') continue;
    for (const figure of price.split(' / ')) {
      expect(words.replaceAll(/(\d)\.(\d)0(?!\d)/g, '$1.$2').replaceAll('.00', ''), `${id} ${figure}`).toContain(`$${figure}`);
    }
  }
  expect(Date.parse(CATALOG_AS_OF)).toBeLessThanOrEqual(READ_AT);
});
