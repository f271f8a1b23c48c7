import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { isFullLoad } from './src/testing/full-load.ts';
import { quickTests } from './src/testing/quick-tests.ts';

/**
 * What starts programs goes first: begun last, it would run beside idle cores. A fresh checkout knows no
 * times yet.
 */
class ProgramsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const startsPrograms = ({ moduleId }: TestSpecification): boolean => moduleId.endsWith('.e2e.test.ts');
    return [...sorted.filter(startsPrograms), ...sorted.filter((file) => !startsPrograms(file))];
  }
}

/**
 * Each starts Chromium again and again: a third of the processor time of all other tests. `npm run
 * attacks:browser` and `.ci/run` play them; one errand of `npm test` uses the browser as people do.
 */
const BROWSER = ['src/app/browser.e2e.test.ts', 'src/tools/browser/{hostile,namespace}.test.ts'];

export default defineConfig(({ mode }) => ({
  test: {
    include:
      mode === 'quick' ? [...quickTests(import.meta.dirname)] : ['{src,channels,config,sessions,scripts,bench}/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(isFullLoad() ? [] : BROWSER)],
    globalSetup: ['src/testing/test-files.ts', ...(mode === 'quick' ? [] : ['src/testing/built-daemon.ts'])],
    // For a machine that is slow and busy: what passes takes milliseconds.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    // Node runs the sources as it runs the daemon: types stripped, modules imported by itself, both kept in
    // the compile cache below. Vite's runner reads each import anew at each use and compiles without a cache:
    // the quick tests took a third more CPU with it. No test mocks a module, so the loader for that is off.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Of the workers and of what tests start: compiled code is kept between processes, where `node-guard.mjs`
    // keeps the daemon's. A process that imports the journal costs 50 ms of CPU with it, 250 ms without.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache') },
    // Workers outnumber the cores, so helper threads of the garbage collector only add to the work; with more
    // room for young objects it runs less often. Together a seventh of the CPU of tests that compute.
    execArgv: ['--min-semi-space-size=16', '--max-semi-space-size=32', '--single-threaded-gc'],
    // Many tests wait for a process, a retry or a time limit: with four files at once the cores of a
    // small machine were idle for a quarter of the time. Each worker imports the SDKs and compiles
    // what is hot anew.
    maxWorkers: 6,
    sequence: { sequencer: ProgramsFirst },
    // Nothing keeps state in a module or works at import time (design, layers), so test files can share a
    // process: importing the SDKs anew for each of them took half of the suite's time.
    isolate: false,
  },
}));
