import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { thirdParty } from './third-party.ts';

test('THIRD-PARTY.md names what is installed, and every package has a licence', () => {
  const page = readFileSync(join(import.meta.dirname, '../../THIRD-PARTY.md'), 'utf8');
  expect(page).toBe(thirdParty());
  expect(page).not.toMatch(/\| {2}\|/);
  // What asks for more than its notice stands below WhatsApp alone.
  const [always = ''] = page.split('## With');
  expect(always).not.toMatch(/GPL-/);
});
