import { runCli } from './program.ts';
import { processDeps } from './wiring.ts';

/** Runs the command line of this process and ends the process with its exit code. */
export async function runProcess(): Promise<never> {
  // `gatehouse … | head`: the reader has what it wanted; writing on must not end in a stack trace.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const code = await runCli(process.argv.slice(2), processDeps());
  // Pipes are written asynchronously: leaving before they are drained would cut the output.
  await Promise.all([drain(process.stdout), drain(process.stderr)]);
  process.exit(code);
}

function drain(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve());
  });
}
