import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { packageVersion } from '../lib/package-info.ts';

test('the program that was put together knows the place of its sources', async () => {
  const main = join(process.env['GATEHOUSE_BUILT'] ?? '', 'main.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [main, '--version']);
  expect(stdout.trim()).toContain(packageVersion());
});
