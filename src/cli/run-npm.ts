import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { ErrorCode } from '../core/error-codes.ts';
import { errorText, GatehouseError } from '../core/errors.ts';

export const NPM_LIMIT_MS = 600_000;

/** What npm needs to find itself, its settings and its registry. Keys of models and channels stay here. */
const PASSED_ON =
  /^(?:PATH|HOME|USER|LANG|LC_ALL|TMPDIR|TEMP|TMP|APPDATA|SYSTEMROOT|(?:https?|no)_proxy|npm_config_.*|node_extra_ca_certs|ssl_cert_(?:file|dir))$/i;

export interface NpmRun {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Of what it fails with. */
  readonly code: ErrorCode;
  readonly hint: string;
}

/**
 * Runs the npm of PATH to its end; `say` takes each line that it prints. Rejects with `code` unless it ends
 * with 0.
 */
export async function runNpm({ args, cwd, env, code, hint }: NpmRun, say: (line: string) => void): Promise<void> {
  const child = spawn('npm', args, {
    cwd,
    env: Object.fromEntries(Object.entries(env).filter(([name]) => PASSED_ON.test(name))),
    stdio: ['ignore', 'pipe', 'pipe'],
    // npm is a batch file there, which only the shell can run; no argument comes from outside.
    shell: process.platform === 'win32',
    signal: AbortSignal.timeout(NPM_LIMIT_MS),
  });
  const lines = (stream: Readable): void =>
    void createInterface({ input: stream }).on('line', (line) => line.trim() !== '' && say(line));
  lines(child.stdout);
  lines(child.stderr);
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).catch((error: unknown) => {
    throw new GatehouseError(code, `npm cannot be run: ${errorText(error)}`, { hint, cause: error });
  });
  if (status !== 0) throw new GatehouseError(code, `npm ended with status ${status}`, { hint });
}
