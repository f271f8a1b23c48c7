/**
 * Runs one program with bounds on its time, output and environment, and on the processes it leaves behind.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { ErrorCode } from '../core/error-codes.ts';
import { GatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import { isErrno } from './errno.ts';
import { NO_LONGER_NEEDED } from './no-longer-needed.ts';
import { printable } from './printable.ts';
import { timeLimit } from './time-limit.ts';

export interface Program {
  /** Program and arguments; no shell ever sees them. */
  readonly argv: readonly [string, ...string[]];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  /** Of what it fails with. */
  readonly errorCode: ErrorCode;
  readonly clock: Clock;
}

/** Between TERM and KILL (spec G1). ms. */
export const TERM_GRACE_MS = 500;
/** Of standard error, for the message of a failure: the end says what went wrong. */
const MAX_ERROR_BYTES = 2_000;
const MAX_ERROR_CHARS = 300;

/**
 * Standard output of a program that ended with 0. Rejects with `errorCode`, or with `signal.reason`. When
 * this settles, the program and its process group are gone; a process that left the group runs on.
 */
export async function runProgram(program: Program, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const { argv, clock, timeoutMs, maxOutputBytes, errorCode } = program;
  const [command, ...args] = argv;
  const failed = (what: string): GatehouseError => new GatehouseError(errorCode, `${command} ${what}`);
  const child = spawn(command, args, {
    cwd: program.cwd,
    env: { ...program.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: false,
    windowsHide: true,
    // A process group of its own, so that what the program starts can be ended with it.
    detached: process.platform !== 'win32',
  });
  using limit = timeLimit(clock, timeoutMs, () => failed(`did not end within ${Math.round(timeoutMs)} ms`), signal);
  const tooMuch = (): void => limit.abort(failed(`printed more than ${maxOutputBytes} bytes`));
  const stdout = collect(child.stdout, maxOutputBytes, tooMuch);
  const stderr = keepTail(child.stderr, MAX_ERROR_BYTES);
  const end = await endOf(child, limit.signal, program);
  signal.throwIfAborted();
  limit.signal.throwIfAborted();
  if (end.code === 0) return stdout();
  throw failed(`ended with ${end.signal ?? `status ${end.code}`}${lastWords(stderr())}`);
}

/** Settles when the program is gone and its pipes are closed. */
async function endOf(
  child: ChildProcess,
  stop: AbortSignal,
  { clock, errorCode }: Program,
): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }> {
  const settled = new AbortController();
  const afterGrace = (work: () => void): void => {
    clock.sleep(TERM_GRACE_MS, settled.signal).then(work, () => undefined); // rejects when it was not necessary
  };
  const terminate = (): void => {
    kill(child, 'SIGTERM');
    afterGrace(() => kill(child, 'SIGKILL'));
  };
  stop.addEventListener('abort', terminate, { once: true });
  child.once('exit', () => {
    // Before its pipes close: a process it left behind would hold them open.
    kill(child, 'SIGKILL');
    // One that made itself a group of its own (setsid) still does, and is not waited for.
    afterGrace(() => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    });
  });
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return { code, signal };
  } catch (error) {
    throw notStarted(child.spawnfile, errorCode, error);
  } finally {
    stop.removeEventListener('abort', terminate);
    settled.abort(NO_LONGER_NEEDED);
  }
}

function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch (error) {
    // No process of the group is left. On macOS a group of zombies answers EPERM.
    if (!isErrno(error, 'ESRCH', 'EPERM')) throw error;
  }
}

/** What was printed, once the program is gone. `stream` is absent where no descriptor is left for it. */
function collect(stream: Readable | undefined, maxBytes: number, tooMuch: () => void): () => string {
  const chunks: Buffer[] = [];
  let total = 0;
  stream?.on('data', (chunk: Buffer) => {
    total += chunk.length;
    if (total <= maxBytes) chunks.push(chunk);
    else tooMuch();
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

function keepTail(stream: Readable | undefined, maxBytes: number): () => string {
  let tail = Buffer.alloc(0);
  stream?.on('data', (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-maxBytes);
  });
  return () => tail.toString('utf8');
}

function lastWords(text: string): string {
  const line = printable(text.trim().split('\n').at(-1) ?? '').slice(0, MAX_ERROR_CHARS);
  return line === '' ? '' : `: ${line}`;
}

function notStarted(command: string, errorCode: ErrorCode, error: unknown): GatehouseError {
  if (!isErrno(error, 'ENOENT')) return new GatehouseError(errorCode, `${command} cannot be started`, { cause: error });
  const hint = `install ${command}, or put it on the PATH of the daemon`;
  return new GatehouseError(errorCode, `${command} is not installed`, { hint, cause: error });
}
