import { spawnSync } from 'node:child_process';
import type { TestContext } from 'vitest';

/** Skips the test with the reason where a program is missing or not permitted, which fails with `CI` set. */
export function needs(context: Pick<TestContext, 'skip'>, command: string, ...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) missing(context, `${command} cannot be used here: ${error?.message ?? stderr.trim()}`);
}

/** The same for a reason found otherwise. */
export function missing(context: Pick<TestContext, 'skip'>, reason: string): void {
  if (process.env['CI']) throw new Error(reason);
  process.stderr.write(`skipped: ${reason}\n`);
  context.skip(reason);
}
