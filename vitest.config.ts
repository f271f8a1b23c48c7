import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // For a machine that is slow and busy: what passes takes milliseconds.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Many tests wait for a process, a retry or a time limit: one file per core would leave the cores of a small machine idle.
    maxWorkers: 4,
    projects: [
      {
        extends: true,
        test: { name: 'whole', include: ['src/{app,cli}/**/*.test.ts'] },
      },
      {
        extends: true,
        // Nothing below app and cli keeps state in a module or works at import time (design, layers), so that its test files can share a
        // process: importing the SDKs anew for each of them took half of the suite's time.
        test: {
          name: 'part',
          include: ['{src,channels,config,sessions}/**/*.test.ts'],
          exclude: ['src/{app,cli}/**'],
          isolate: false,
        },
      },
    ],
  },
});
