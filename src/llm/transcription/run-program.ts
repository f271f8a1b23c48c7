/** Runs one program of the operator's with everything bounded: time, output, environment, and what it leaves running. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { GatehouseError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports.ts';
import { NO_LONGER_NEEDED } from '../../lib/no-longer-needed.ts';
import { printable } from '../../lib/printable.ts';
import { CallTimeout } from '../deadlines.ts';

export interface Program {
  /** Program and arguments; no shell ever sees them. */
  readonly argv: readonly [string, ...string[]];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly clock: Clock;
}

/** Between TERM and KILL, as for the shell tool (spec G1). ms. */
const TERM_GRACE_MS = 500;
/** Of standard error, for the message of a failure: the end says what went wrong. */
const MAX_ERROR_BYTES = 2_000;
const MAX_ERROR_CHARS = 300;

/**
 * Standard output of a program that ended with 0. Rejects with GH2114, or with `signal.reason`; either way the program and
 * everything it started in its process group is gone when this settles. A process that left the group runs on, with no way to us.
 */
export async function runProgram(program: Program, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const { argv, clock, timeoutMs } = program;
  const [command, ...args] = argv;
  const child = spawn(command, args, {
    cwd: program.cwd,
    env: { ...program.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: false,
    windowsHide: true,
    // A process group of its own, so that what the program starts can be ended with it.
    detached: process.platform !== 'win32',
  });
  const stop = new AbortController();
  const settled = new AbortController();
  const onAbort = (): void => stop.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  clock.sleep(timeoutMs, settled.signal).then(
    () => stop.abort(new CallTimeout('whole answer', timeoutMs)),
    () => undefined, // it ended in time
  );
  const tooMuch = (): void =>
    stop.abort(new GatehouseError('GH2114', `${command} printed more than ${program.maxOutputBytes} bytes`));
  const stdout = collect(child.stdout, program.maxOutputBytes, tooMuch);
  const stderr = keepTail(child.stderr, MAX_ERROR_BYTES);
  try {
    const ended = await exitOf(child, stop.signal, settled.signal, clock);
    signal.throwIfAborted();
    if (stop.signal.aborted) throw stopped(command, stop.signal.reason);
    if (ended.code === 0) return stdout();
    const said = lastWords(stderr());
    throw new GatehouseError('GH2114', `${command} ended with ${ended.signal ?? `status ${ended.code}`}${said}`);
  } finally {
    signal.removeEventListener('abort', onAbort);
    settled.abort(NO_LONGER_NEEDED);
  }
}

/** Settles when the program is gone and its pipes are closed. */
async function exitOf(
  child: ChildProcess,
  stop: AbortSignal,
  settled: AbortSignal,
  clock: Clock,
): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }> {
  const end = (): void => {
    kill(child, 'SIGTERM');
    clock.sleep(TERM_GRACE_MS, settled).then(
      () => kill(child, 'SIGKILL'),
      () => undefined, // it went by itself
    );
  };
  stop.addEventListener('abort', end, { once: true });
  child.once('exit', () => {
    // Before its pipes close: a process it left behind would hold them open.
    kill(child, 'SIGKILL');
    // One that made itself a group of its own (setsid) still does, and is not waited for.
    clock.sleep(TERM_GRACE_MS, settled).then(
      () => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      },
      () => undefined, // the pipes closed
    );
  });
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return { code, signal };
  } catch (error) {
    throw notStarted(child.spawnfile, error);
  } finally {
    stop.removeEventListener('abort', end);
  }
}

function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch (error) {
    // Nobody of the group is left. On macOS a group of zombies answers EPERM.
    if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM'))) throw error;
  }
}

/** What was printed, once the program is gone. */
function collect(stream: Readable, maxBytes: number, tooMuch: () => void): () => string {
  const chunks: Buffer[] = [];
  let total = 0;
  stream.on('data', (chunk: Buffer) => {
    total += chunk.length;
    if (total <= maxBytes) chunks.push(chunk);
    else tooMuch();
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

function keepTail(stream: Readable, maxBytes: number): () => string {
  let tail = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-maxBytes);
  });
  return () => tail.toString('utf8');
}

function lastWords(text: string): string {
  const line = printable(text.trim().split('\n').at(-1) ?? '').slice(0, MAX_ERROR_CHARS);
  return line === '' ? '' : `: ${line}`;
}

function stopped(command: string, reason: unknown): unknown {
  if (!(reason instanceof CallTimeout)) return reason;
  return new GatehouseError('GH2114', `${command} did not end within ${Math.round(reason.ms)} ms`, { cause: reason });
}

function notStarted(command: string, error: unknown): GatehouseError {
  const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
  return new GatehouseError('GH2114', isMissing ? `${command} is not installed` : `${command} cannot be started`, {
    ...(isMissing ? { hint: `install ${command}, or put it on the PATH of the daemon` } : {}),
    cause: error,
  });
}
