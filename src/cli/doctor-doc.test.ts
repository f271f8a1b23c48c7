import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../lib/package-info.ts';
import { renderDoctorDoc } from './doctor-doc.ts';

test('docs/doctor.md is what the table of checks says (else run: npm run generate)', async () => {
  expect(await readFile(join(packageRoot(), 'docs', 'doctor.md'), 'utf8')).toBe(renderDoctorDoc());
});
