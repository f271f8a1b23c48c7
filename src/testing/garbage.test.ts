import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cachedDataVersionTag } from 'node:v8';
import { expect, test } from 'vitest';
import { packageRoot } from '../lib/package-info.ts';
import { collectGarbage } from './garbage.ts';

test('to collect garbage leaves V8 with its flags, under which the code of later tests was compiled', async () => {
  const before = cachedDataVersionTag();
  let looks = 0;
  await collectGarbage(() => {
    looks += 1;
    return looks === 2;
  });
  expect([looks, cachedDataVersionTag()]).toEqual([2, before]);
});

test('no test sets a flag of V8 for all that run in its process', () => {
  const root = packageRoot();
  const tests = globSync('{src,channels,config,sessions,scripts,bench}/**/*.test.ts', { cwd: root });
  const sets = /^import .*\bsetFlagsFromString\b/m;
  expect(tests.filter((file) => sets.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
});
