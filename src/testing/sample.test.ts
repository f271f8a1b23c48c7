import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../lib/package-info.ts';
import { tempDir } from './fakes.ts';
import { isFullLoad } from './full-load.ts';
import { byLoad, nth, testSample } from './sample.ts';

const played: number[] = [];

testSample([0, 1, 2, 3, 4], nth(2, 1))('row %i', (row) => void played.push(row));

test('a sample is the same rows in each run, and the full load plays them all', () => {
  expect(played).toEqual(byLoad([1, 3], [0, 1, 2, 3, 4]));
  expect(byLoad('sample', 'full')).toBe(isFullLoad() ? 'full' : 'sample');
});

const ROOT = packageRoot();
const RUN = readFileSync(join(ROOT, '.ci/run'), 'utf8');

test('.ci/run plays every file that has a test for the full load alone', () => {
  const files = globSync('{src,channels,config,sessions,scripts,bench}/**/*.test.ts', { cwd: ROOT });
  const alone = files.filter((file) => /skipIf\(!isFullLoad\(\)\)/.test(readFileSync(join(ROOT, file), 'utf8')));
  expect(alone).toContain('src/app/programs.e2e.test.ts');
  const line = RUN.split('\n').find((text) => text.startsWith('GATEHOUSE_TEST_LOAD=full ')) ?? '';
  expect(alone.filter((file) => !line.split(' ').includes(file))).toEqual([]);
});

test('to .ci/run a program that is missing or not permitted is a failure', () => {
  expect(RUN).toMatch(/^export CI="\$\{CI:-1\}"$/m);
});

test('in .ci/run a failure of the browser is the end, and a page that missed its time is tried once more', async () => {
  const from = RUN.indexOf("step 'the browser:");
  const part = RUN.slice(from, RUN.indexOf("step 'lint", from));
  await using work = await tempDir();
  const play = async (text: string) => {
    const assertionResults = [{ status: 'failed', failureMessages: [text] }];
    const results = { testResults: [{ status: 'failed', message: '', assertionResults }] };
    await writeFile(join(work.path, 'browser.json'), JSON.stringify(results));
    const head = `set -euo pipefail; work='${work.path}'; step() { :; }; npm() { echo played; return 1; }`;
    const { status, stdout } = spawnSync('bash', ['-c', `${head}\n${part}\necho went on`], { encoding: 'utf8' });
    return { status, stdout };
  };
  expect(await play('AssertionError: a forbidden address was reached')).toEqual({ status: 1, stdout: 'played\n' });
  expect(await play('Error: Test timed out in 5000ms')).toEqual({ status: 1, stdout: 'played\nplayed\n' });
});
