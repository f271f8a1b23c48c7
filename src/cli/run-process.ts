import { isGatehouseError } from '../core/errors.ts';
import { usePackagesDir } from '../lib/optional-packages.ts';
import type { CliDeps } from './deps.ts';
import { runCli } from './program.ts';
import { processDeps } from './wiring.ts';

/** Runs the command line of this process and ends the process with its exit code. */
export async function runProcess(): Promise<never> {
  // `gatehouse … | head`: the reader has what it wanted; writing on must not end in a stack trace.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  // A log that nobody reads any more must not end the daemon that writes it.
  process.stderr.on('error', () => undefined);
  usePackagesDir(process.env['GATEHOUSE_PACKAGES']);
  const code = await runCli(process.argv.slice(2), startingDeps());
  // Pipes are written asynchronously: leaving before they are drained would cut the output.
  await Promise.all([drain(process.stdout), drain(process.stderr)]);
  process.exit(code);
}

/** Nothing can be printed in the usual way before there are collaborators. */
function startingDeps(): CliDeps {
  try {
    return processDeps();
  } catch (error) {
    const [code, hint] = isGatehouseError(error) ? [error.code, error.hint] : ['GH1004', 'see the message'];
    process.stderr.write(`✗ ${code} ${error instanceof Error ? error.message : String(error)}\n  → ${hint}\n`);
    return process.exit(1);
  }
}

function drain(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve());
  });
}
