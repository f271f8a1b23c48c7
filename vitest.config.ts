import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{src,channels,config,sessions}/**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    pool: 'forks',
  },
});
