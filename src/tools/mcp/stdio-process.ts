/** A program that is spoken with line by line, in its own process group; all that it starts ends with it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../core/ports.ts';
import { isErrno } from '../../lib/errno.ts';
import { oneLine } from '../../lib/one-line.ts';
import { gated } from '../../lib/start-gate.ts';
import { startTimer } from '../../lib/timer.ts';
import { descendantsOf, killMarked, PROCESS_MARK, signalTo } from '../../sandbox/kernel-process.ts';

export interface LineProgram {
  /** Program and arguments; no shell ever sees them. */
  readonly argv: readonly [string, ...string[]];
  /** The whole environment, but for the mark by which all that it starts is found. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Of one line; a longer one ends the program. */
  readonly maxLineBytes: number;
  readonly clock: Clock;
  readonly onLine: (line: string) => void;
  /** What it prints on standard error, in pieces of at most `maxLineBytes`. */
  readonly onError: (text: string) => void;
  /** Called once, when it is gone, with why. */
  readonly onEnd: (reason: Error) => void;
  /** Absent = nothing ends it where this process is killed. */
  readonly record?: RecordProcess | undefined;
}

/**
 * Writes down that a process group runs, so that the next start ends it; the program begins once that has
 * resolved, and never when it rejects. `id`: the mark. Resolves to what is called when all of it is gone.
 */
export type RecordProcess = (process: {
  readonly id: string;
  readonly pid: number;
  readonly program: string;
}) => Promise<() => void>;

/** After standard input was closed, before TERM; and between TERM and KILL. ms. */
const GRACE_MS = 500;
/** So much may wait for a program that does not read. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;

/** Of a line that is not complete. */
const MAX_PIECES = 256;

/** Of what a program said before it ended, in UTF-16 units. */
const SAID_CHARS = 200;

/** Groups that run: where this process ends without having closed them, they end with it. */
const running = new Set<number>();

function endAll(): void {
  for (const pid of running) signalGroup(pid, 'SIGKILL');
}

/** With a fourth pipe, on which a program that waits is let go. Without pipes where no descriptor is left. */
type Child = Omit<ChildProcess, 'stdin' | 'stdout' | 'stderr' | 'stdio'> & {
  readonly stdin?: Writable | null;
  readonly stdout?: Readable | null;
  readonly stderr?: Readable | null;
  readonly stdio?: readonly [Writable, Readable, Readable, Writable | null, null | undefined] | null;
};

export class LineProcess {
  readonly #program: LineProgram;
  readonly #id = randomUUID();
  readonly #child: Child;
  readonly #gone = Promise.withResolvers<void>();
  #rest: Buffer[] = [];
  #restBytes = 0;
  #reason: Error | undefined;
  #isOver = false;
  /** Settles when what has left the group is gone as well. */
  #strays: Promise<void> = Promise.resolve();
  /** The last line on standard error: mostly why it ended. */
  #lastSaid = '';

  constructor(program: LineProgram) {
    const { argv, cwd, env } = program;
    const [command, ...args] = argv;
    this.#program = program;
    const options = {
      cwd,
      env: { ...env, [PROCESS_MARK]: this.#id },
      shell: false,
      windowsHide: true,
      detached: process.platform !== 'win32',
    };
    const [file, given] = program.record ? ['/bin/sh', gated(argv)] : [command, args];
    const child = spawn(file, given, {
      ...options,
      stdio: ['pipe', 'pipe', 'pipe', program.record ? 'pipe' : 'ignore'],
    }) as Child;
    this.#child = child;
    child.on('error', (error) => this.#end(notStarted(command, error)));
    if (child.pid !== undefined) remember(child.pid);
    void this.#letGo(program.record);
    child.stdout?.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr?.on('data', (chunk: Buffer) => this.#said(chunk.toString('utf8', 0, program.maxLineBytes)));
    // Each failure of a pipe comes with the end of the program, which says more.
    for (const stream of child.stdio ?? []) stream?.on('error', () => undefined);
    child.once('exit', (code, signal) => this.#exited(() => ended(command, signal ?? code, this.#lastSaid)));
  }

  #said(text: string): void {
    this.#lastSaid = text.trim().split('\n').at(-1) ?? '';
    this.#program.onError(text);
  }

  async #letGo(record: RecordProcess | undefined): Promise<void> {
    const { pid } = this.#child;
    if (!record || pid === undefined) return;
    try {
      const forgotten = await record({ id: this.#id, pid, program: this.#program.argv[0] });
      this.#gone.promise.then(forgotten);
      this.#child.stdio?.[3]?.end('go\n');
    } catch (error) {
      this.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Throws once the program is gone, and where it does not read. */
  write(line: string): void {
    const { stdin } = this.#child;
    if (this.#isOver || !stdin) throw this.#reason ?? new Error('the program is gone');
    if (stdin.writableLength > MAX_UNREAD_BYTES) {
      const error = new Error('it does not read what it is sent');
      this.fail(error);
      throw error;
    }
    stdin.write(`${line}\n`);
  }

  /** Ends it at once, for this reason. */
  fail(reason: Error): void {
    this.#reason ??= reason;
    this.#endAll('SIGKILL');
  }

  /** Closes its input, then asks, then kills. Resolves when nothing is left of it and of what it started. */
  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#reason ??= new Error('it was closed');
    this.#child.stdin?.end();
    const { clock } = this.#program;
    const stops = [
      startTimer(clock, GRACE_MS, () => this.#endAll('SIGTERM')),
      startTimer(clock, 2 * GRACE_MS, () => this.#endAll('SIGKILL')),
    ];
    await this.#gone.promise;
    for (const stop of stops) stop();
  }

  #read(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...this.#rest, chunk.subarray(from, at)]);
      this.#rest = [];
      this.#restBytes = 0;
      from = at + 1;
      if (this.#isOver || this.#reason) return;
      if (line.length > this.#program.maxLineBytes) {
        this.#tooLong();
        return;
      }
      this.#program.onLine(line.toString('utf8'));
    }
    const left = chunk.subarray(from);
    this.#restBytes += left.length;
    if (this.#restBytes > this.#program.maxLineBytes) {
      this.#tooLong();
      return;
    }
    if (left.length > 0) this.#rest.push(left);
    // Sent byte by byte, a line would be a million buffers.
    if (this.#rest.length > MAX_PIECES) this.#rest = [Buffer.concat(this.#rest)];
  }

  #tooLong(): void {
    this.#rest = [];
    this.#restBytes = 0;
    this.fail(new Error(`it sent a line of more than ${this.#program.maxLineBytes} bytes`));
  }

  /** What it printed last is still read; what it started goes with it. */
  #exited(reason: () => Error): void {
    this.#kill('SIGKILL');
    // What left the group may hold the pipes.
    this.#strays = killMarked(this.#id, this.#program.clock).catch(() => undefined);
    const stop = startTimer(this.#program.clock, GRACE_MS, () => this.#end(reason()));
    this.#child.once('close', () => {
      stop();
      this.#end(reason());
    });
  }

  #end(reason: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#child.pid !== undefined) forget(this.#child.pid);
    for (const stream of this.#child.stdio ?? []) stream?.destroy();
    void this.#strays.then(() => this.#gone.resolve());
    this.#program.onEnd(this.#reason ?? reason);
  }

  /** Ends the group and what has left it. What has lost its mark is not found once its parent is gone. */
  #endAll(signal: 'SIGTERM' | 'SIGKILL'): void {
    const { pid } = this.#child;
    if (pid === undefined || this.#isOver) return;
    descendantsOf(pid)
      .then((below) => {
        for (const one of below) signalTo(one, signal);
      })
      .catch(() => undefined)
      .finally(() => this.#kill(signal));
  }

  #kill(signal: NodeJS.Signals): void {
    if (this.#child.pid !== undefined && !this.#isOver) signalGroup(this.#child.pid, signal);
  }
}

function remember(pid: number): void {
  if (running.size === 0) process.on('exit', endAll);
  running.add(pid);
}

function forget(pid: number): void {
  running.delete(pid);
  if (running.size === 0) process.off('exit', endAll);
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  signalTo(process.platform === 'win32' ? pid : -pid, signal);
}

/** A shell that does not find what it is to become ends with 127 (POSIX, 2.8.2). */
function ended(command: string, how: string | number | null, lastSaid: string): Error {
  if (how === 127) return new Error(`${command} is not installed, or ended with status 127`);
  const words = oneLine(lastSaid, SAID_CHARS);
  const said = words === '' ? '' : `; the last that it said is: ${words}`;
  return new Error(`${command} ended with ${typeof how === 'string' ? how : `status ${how}`}${said}`);
}

function notStarted(command: string, error: Error): Error {
  return isErrno(error, 'ENOENT')
    ? new Error(`${command} is not installed, or its directory is not there`, { cause: error })
    : new Error(`${command} cannot be started`, { cause: error });
}
