// one program: started behind a gate, recorded, let go, read, and ended with all that it started
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { GatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import type { Exit } from '../core/process.ts';
import { isErrno } from '../lib/errno.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';
import { TERM_GRACE_MS } from '../lib/run-program.ts';
import { gated } from '../lib/start-gate.ts';
import { CappedOutput } from './capped-output.ts';
import { cleanUpBy } from './clean-up.ts';
import { descendantsOf, killMarked, PROCESS_MARK, signalTo, startOf } from './kernel-process.ts';
import { LineSplitter } from './line-splitter.ts';
import { outgrows } from './memory.ts';

/** What is really started: the sandbox with the program in it, or the program alone. */
export interface Command {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** What the program finds to read at descriptor 4. */
  readonly fourth?: Uint8Array;
  /**
   * The first process only watches over the program, and ends everything when it is killed: it is not asked
   * to end before the rest.
   */
  readonly isGuardian: boolean;
  /** What all that it starts may hold together. Absent = nothing bounds it, or what it runs in does. */
  readonly memoryBytes?: number;
  /** Run once a signal ended the first process: what that leaves behind is in no group of this system. */
  readonly cleanUp?: readonly string[];
}

export interface GroupOptions {
  readonly stdin?: Uint8Array;
  /** Called with standard input before the program begins; it stays open then. */
  readonly onInput?: (stdin: Writable) => void;
  readonly timeoutMs: number;
  /** Of each stream. */
  readonly outputBytes: number;
  /** The program begins once this has resolved, and never when it rejects. */
  readonly onStart: (process: { readonly pid: number; readonly started: string }) => Promise<void>;
  readonly onLine?: (stream: 'out' | 'err', line: string) => void;
  readonly onOutput?: (bytes: Buffer) => void;
  /** Asked after lines or bytes were told: nothing more is read until what it returns has resolved. */
  readonly drained?: () => Promise<void> | undefined;
  readonly clock: Clock;
}

const GONE_EVERY_MS = 10;
/**
 * Runs a command until it and its process group are gone. Rejects with GH2010 when it cannot be started, as
 * `onStart` does, with GH2014 when it held too much memory, and with the reason of the signal. What left the
 * group ends with it too, by its mark or with the guardian of its sandbox; without a mark it is out of reach
 * once its parents are gone.
 */
export async function runGroup(command: Command, options: GroupOptions, signal: AbortSignal): Promise<Exit> {
  signal.throwIfAborted();
  const child = await begin(command);
  const group = new Group(child, command, options.clock);
  const onAbort = (): void => group.end();
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  let timedOut = false;
  const output = collect(child, options);
  try {
    if (child.stdin) options.onInput?.(child.stdin);
    await letGo(child, options);
    feed(child, options);
    options.clock.sleep(options.timeoutMs, group.over).then(
      () => {
        // One that ended in time answered in time, whatever still holds its pipes.
        timedOut = child.exitCode === null && child.signalCode === null;
        group.end();
      },
      () => undefined, // the program was quicker
    );
    const isTooLarge = watchMemory(group, command, options.clock);
    const code = await group.closed;
    await group.gone();
    signal.throwIfAborted();
    if (await isTooLarge) throw tooLarge(command);
    return { code, timedOut, ...output() };
  } catch (error) {
    group.end();
    await group.closed;
    await group.gone();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Whether it was ended for what it held. Settles with the program. */
async function watchMemory(group: Group, { memoryBytes }: Command, clock: Clock): Promise<boolean> {
  if (memoryBytes === undefined || !(await outgrows(group.pid, memoryBytes, { clock, over: group.over }))) return false;
  // At once: what it does until then may take the memory of the machine.
  group.end('SIGKILL');
  return true;
}

function tooLarge({ memoryBytes = 0 }: Command): GatehouseError {
  const held = `its processes together held more than ${Math.floor(memoryBytes / 1024 ** 2)} MiB of memory (sandbox.memory_mb)`;
  return new GatehouseError('GH2014', `the program was ended with all that it started: ${held}`);
}

async function begin({ argv, cwd, env, fourth }: Command): Promise<ChildProcess> {
  const child = spawn('/bin/sh', gated(argv), {
    ...{ cwd, env: { ...env }, shell: false, windowsHide: true },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', fourth ? 'pipe' : 'ignore'],
    // A process group and a session of its own: it can be ended as a whole, and has no terminal to type at.
    detached: true,
  });
  const spawned = once(child, 'spawn');
  // A program may end without reading what it was given. No pipes where no descriptor is left for them.
  for (const stream of child.stdio ?? []) stream?.on('error', () => undefined);
  try {
    await spawned;
  } catch (error) {
    const hint = isErrno(error, 'ENOENT') ? 'its directory, or /bin/sh, does not exist' : 'see the cause';
    throw new GatehouseError('GH2010', `${argv[0] ?? 'a program'} cannot be started`, { hint, cause: error });
  }
  if (fourth) (child.stdio[4] as Writable).end(fourth);
  return child;
}

async function letGo(child: ChildProcess, { onStart }: GroupOptions): Promise<void> {
  const pid = child.pid ?? 0;
  const started = await startOf(pid);
  // Only a kill can end it at the gate.
  if (started === undefined) throw new GatehouseError('GH2010', 'a program was ended before it began');
  await onStart({ pid, started });
  (child.stdio[3] as Writable).end('go\n');
}

function feed({ stdin: pipe }: ChildProcess, { stdin, onInput }: GroupOptions): void {
  if (stdin !== undefined) pipe?.write(stdin);
  if (!onInput) pipe?.end();
}

function collect(
  child: ChildProcess,
  { outputBytes, onLine, onOutput, drained }: GroupOptions,
): () => Omit<Exit, 'code' | 'timedOut'> {
  const read = (name: 'out' | 'err', stream: Readable | null): CappedOutput => {
    const kept = new CappedOutput(outputBytes);
    const lines = onLine && new LineSplitter((line) => onLine(name, line));
    stream?.on('data', (chunk: Buffer) => {
      kept.write(chunk);
      lines?.write(chunk);
      if (name === 'out') onOutput?.(chunk);
      const wait = lines || onOutput ? drained?.() : undefined;
      if (!wait) return;
      stream.pause();
      void wait.then(() => stream.resume());
    });
    stream?.on('end', () => lines?.end());
    return kept;
  };
  const out = read('out', child.stdout);
  const err = read('err', child.stderr);
  return () => ({ out: out.text(), err: err.text(), cut: out.cut + err.cut });
}

/** A process with all that it started. */
class Group {
  /** Its status, null after a signal; settles once its pipes are closed as well. */
  readonly closed: Promise<number | null>;
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #command: Command;
  readonly #clock: Clock;
  readonly #over = new AbortController();
  /** Its descendants when it was ended. */
  #ended: readonly number[] = [];
  #ending: Promise<void> | undefined;
  /** Settles once what left the group is killed as well. */
  #strays: Promise<void> = Promise.resolve();

  constructor(child: ChildProcess, command: Command, clock: Clock) {
    this.#child = child;
    this.pid = child.pid ?? 0;
    this.#command = command;
    this.#clock = clock;
    // What it left running would keep the pipes open.
    child.once('exit', () => this.#exited());
    this.closed = once(child, 'close').then(([code]: unknown[]) => {
      this.#over.abort(NO_LONGER_NEEDED);
      return code as number | null;
    });
  }

  /** Aborts when it is closed. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** The signal to all of it, and KILL to what is left after half a second. Safe to call twice. */
  end(first: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): void {
    this.#ending ??= this.#end(first).catch(() => signalTo(-this.pid, 'SIGKILL'));
  }

  /**
   * Resolves once what was ended has left the system as well, which takes a moment after the last pipe was
   * closed. Waits for that at most half a second, because a process in the middle of a call to a dead disk
   * cannot be ended. Rejects with GH2010 where `cleanUp` may have left something behind.
   */
  async gone(): Promise<void> {
    await this.#ending;
    await this.#strays;
    const { cleanUp, env } = this.#command;
    if (cleanUp && (this.#ending || (await this.closed) === null)) await cleanUpBy(cleanUp, env);
    const until = this.#clock.monotonic() + TERM_GRACE_MS;
    while (this.#clock.monotonic() < until) {
      const starts = await Promise.all(this.#ended.map(startOf));
      if (starts.every((start) => start === undefined)) return;
      await this.#clock.sleep(GONE_EVERY_MS);
    }
  }

  #exited(): void {
    signalTo(-this.pid, 'SIGKILL');
    const { env, isGuardian } = this.#command;
    const mark = env[PROCESS_MARK];
    if (mark !== undefined && !isGuardian) this.#strays = killMarked(mark, this.#clock).catch(() => undefined);
  }

  async #end(first: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const below = await descendantsOf(this.pid);
    if (this.over.aborted) return;
    this.#ended = below;
    for (const pid of below) signalTo(pid, first);
    // At the gate there is nothing below, and a guardian that is killed takes all with it.
    if (!this.#command.isGuardian || below.length === 0) signalTo(-this.pid, first);
    try {
      await this.#clock.sleep(TERM_GRACE_MS, this.over);
    } catch {
      return; // all of it is gone
    }
    for (const pid of await descendantsOf(this.pid)) signalTo(pid, 'SIGKILL');
    signalTo(-this.pid, 'SIGKILL');
    // A process that left the group may still hold the pipes.
    await this.#clock.sleep(TERM_GRACE_MS, this.over).catch(() => undefined);
    for (const stream of this.#child.stdio) stream?.destroy();
  }
}
