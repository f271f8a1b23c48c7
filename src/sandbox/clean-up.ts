import { execFile } from 'node:child_process';
import { GatehouseError } from '../core/errors.ts';
import { oneLine } from '../lib/one-line.ts';

/** An engine that takes longer hangs. ms. */
export const CLEAN_UP_MS = 10_000;

/**
 * Runs a command that removes what a program left behind; that there is nothing of it is fine. Rejects with
 * GH2010 where it may still be there.
 */
export async function cleanUpBy(
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const { failure, said } = await new Promise<{ failure: Error | null; said: string }>((resolve) =>
    execFile(command, args, { env: { ...env }, cwd: '/', timeout: CLEAN_UP_MS, killSignal: 'SIGKILL' }, (error, _out, err) =>
      resolve({ failure: error, said: err }),
    ),
  );
  if (!failure || /no such container/i.test(said)) return;
  throw new GatehouseError('GH2010', `what a program left behind may still run: ${oneLine(said || failure.message, 300)}`, {
    hint: `run \`${[command, ...args].join(' ')}\``,
    cause: failure,
  });
}
