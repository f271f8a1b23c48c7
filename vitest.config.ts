import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{src,channels,config,sessions}/**/*.test.ts'],
    // For a machine that is slow and busy: what passes takes milliseconds.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Many tests wait for a process, a retry or a time limit: one file per core would leave the cores of a small machine idle.
    maxWorkers: 4,
    // Nothing keeps state in a module or works at import time (design, layers), so test files can share a process: importing the SDKs
    // anew for each of them took half of the suite's time.
    isolate: false,
  },
});
