import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { runCli } from '../cli/program.ts';
import { processDeps } from '../cli/wiring.ts';

export interface CliEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line of the program in this process, in a directory of `startInline` or `startChild`. */
export async function cliRun(
  dir: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  dataDir = join(dir, 'data'),
): Promise<CliEnd> {
  const said = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof said): PassThrough =>
    new PassThrough().on('data', (chunk) => {
      said[name] += String(chunk);
    });
  const code = await runCli([...args, '--config', join(dir, 'config.json'), '--data-dir', dataDir], {
    ...processDeps(),
    stdio: { stdin: Readable.from([]), stdout: stream('stdout'), stderr: stream('stderr') },
    env: { PATH: process.env['PATH'], HOME: dir, ...env },
    cwd: dir,
    home: dir,
  });
  return { code, ...said };
}

/** As `cliRun`, with `--json`: resolves with its one document. Rejects with what it said when it fails. */
export async function cliJson(
  dir: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const { code, stdout, stderr } = await cliRun(dir, [...args, '--json'], env);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
  return JSON.parse(stdout) as unknown;
}
