/** The daemon as the process it is in production: started, watched, stopped and killed by a test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DaemonFiles, type Ended, type RunningDaemon, watchDaemon, writeDaemonFiles } from './running-daemon.ts';

const SOURCES = join(import.meta.dirname, '..');
const GUARD = join(SOURCES, 'cli/node-guard.mjs');
/** Where `built-daemon.ts` put the program; outside the test suite its sources run. */
const BUILT = process.env['GATEHOUSE_BUILT'];
/** The program, for tests that start it in a way of their own. */
export const MAIN = BUILT ? join(BUILT, 'main.mjs') : join(SOURCES, 'cli/main.ts');
const FAULT = BUILT ? join(BUILT, 'fault-daemon.mjs') : join(SOURCES, 'testing/fault-daemon.ts');

/** Room for the objects of a start, which then is not collected: a sixth of its processor time. */
const NODE_ARGS = ['--min-semi-space-size=16', '--import', GUARD];
/** For tests of memory: the bounds of `npm start` and of the service, which the line above is far over. */
export const SHIPPED_BOUNDS = ['--max-old-space-size=768', '--min-semi-space-size=4', '--max-semi-space-size=16'] as const;
/** Where the suite keeps compiled code, beyond the directory of its other files. */
const KEPT_CODE = process.env['NODE_COMPILE_CACHE'] ? { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] } : {};

export interface ChildOptions extends DaemonFiles {
  /** A program and arguments that run the daemon, e.g. strace. */
  readonly wrapper?: readonly string[];
  /** Where the process kills itself: `METHOD:before|after:N` of the journal, `tool:…` of the tool `count`. */
  readonly killAt?: string;
  readonly stdin?: 'pipe' | 'ignore';
  /** Further arguments of Node, which win over the usual ones. */
  readonly nodeArgs?: readonly string[];
}

export interface ChildDaemon extends RunningDaemon {
  readonly process: ChildProcess;
  /** Sends the signal, by default SIGTERM, and resolves when the process is gone. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
}

/** A command line of the real program, and the environment that it needs. */
export function programLine(dir: string, ...args: readonly string[]) {
  const [command, ...before] = [process.execPath, ...NODE_ARGS, MAIN];
  return {
    command,
    args: [...before, ...args],
    env: { PATH: process.env['PATH'] ?? '', HOME: dir, TMPDIR: tmpdir(), ...KEPT_CODE },
  };
}

/** The tool `count` of `fault-daemon.ts` writes a line here per run. */
export function countFile(dir: string): string {
  return join(dir, 'count');
}

/** Starts the real program; with `killAt` its twin of `fault-daemon.ts`. Does not wait until it is ready. */
export async function startChild(options: ChildOptions): Promise<ChildDaemon> {
  const { dir, env = {}, wrapper = [], nodeArgs = [], killAt } = options;
  const { dataDir, file } = await writeDaemonFiles(options);
  const program =
    killAt === undefined
      ? [MAIN, 'gateway', '--config', file, '--data-dir', dataDir, ...(options.args ?? [])]
      : [FAULT, file, dataDir, killAt, countFile(dir)];
  const [command = '', ...args] = [...wrapper, process.execPath, ...NODE_ARGS, ...nodeArgs, ...program];
  const child = spawn(command, args, {
    cwd: dir,
    // Nothing of this process's environment but what any program needs.
    env: { PATH: process.env['PATH'], HOME: dir, TMPDIR: tmpdir(), ...KEPT_CODE, ...env },
    stdio: [options.stdin ?? 'ignore', 'pipe', 'pipe'],
  });
  return watch(child, dataDir);
}

function watch(child: ChildProcess, dataDir: string): ChildDaemon {
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk) => {
    stdout += String(chunk);
  });
  child.stderr?.on('data', (chunk) => {
    stderr += String(chunk);
  });
  let isGone = false;
  const ended = once(child, 'close').then(([code, signal]: unknown[]): Ended => {
    isGone = true;
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> => {
    if (!isGone) child.kill(signal);
    return await ended;
  };
  return {
    ...watchDaemon({
      dataDir,
      ended,
      stdout: () => stdout,
      stderr: () => stderr,
      // As the process sees it: it may have file systems of its own mounted.
      recordFile: () => join(`/proc/${child.pid}/root`, dataDir, 'daemon.json'),
    }),
    process: child,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop('SIGKILL');
    },
  };
}
