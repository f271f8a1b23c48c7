import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const MAIN = join(import.meta.dirname, '../cli/main.ts');

/** Runs the real program with `--json` in a directory of `startChild`; resolves with its one document. Rejects when it fails. */
export async function cliJson(
  dir: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const places = ['--config', join(dir, 'config.json'), '--data-dir', join(dir, 'data')];
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args, ...places, '--json'], {
    cwd: dir,
    env: { PATH: process.env['PATH'], HOME: dir, ...env },
  });
  return JSON.parse(stdout) as unknown;
}
