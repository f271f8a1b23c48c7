import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{src,channels,config,sessions}/**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Many tests wait for a process, a retry or a time limit: on the two cores of a small machine one file at a time wastes one.
    maxWorkers: 2,
  },
});
