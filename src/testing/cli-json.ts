import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { runCli } from '../cli/program.ts';
import { processDeps } from '../cli/wiring.ts';

/**
 * Runs a command line of the program with `--json`, within this process, in a directory of `startInline` or `startChild`; resolves with
 * its one document. Rejects with what it said when it fails.
 */
export async function cliJson(
  dir: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const places = ['--config', join(dir, 'config.json'), '--data-dir', join(dir, 'data')];
  const said = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof said): PassThrough =>
    new PassThrough().on('data', (chunk) => {
      said[name] += String(chunk);
    });
  const code = await runCli([...args, ...places, '--json'], {
    ...processDeps(),
    stdio: { stdin: Readable.from([]), stdout: stream('stdout'), stderr: stream('stderr') },
    env: { PATH: process.env['PATH'], HOME: dir, ...env },
    cwd: dir,
    home: dir,
  });
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${said.stderr}${said.stdout}`);
  return JSON.parse(said.stdout) as unknown;
}
