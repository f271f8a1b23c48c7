/** The daemon as the process it is in production: started, watched, stopped and killed by a test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DaemonRecord, StatusDocument } from '../core/status.ts';
import { until } from './fakes.ts';

const SOURCES = join(import.meta.dirname, '..');
const GUARD = join(SOURCES, 'cli/node-guard.mjs');

/** A start takes a second; on a machine that is busy with other things twenty times as long. One that failed is noticed at once. */
const START_MS = 30_000;

export interface ChildOptions {
  /** Holds `config.json` and, below `data`, the data directory; made when absent. */
  readonly dir: string;
  /** Written before the start; absent = the file of an earlier start, or none. */
  readonly config?: unknown;
  readonly env?: Readonly<Record<string, string>>;
  /** Behind the command `gateway`. */
  readonly args?: readonly string[];
  /** A program and arguments that run the daemon, e.g. strace. */
  readonly wrapper?: readonly string[];
  /** `METHOD:before|after:N` for the journal, `tool:before|after:N` for the tool `count`: the process kills itself there. */
  readonly killAt?: string;
  readonly stdin?: 'pipe' | 'ignore';
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ChildDaemon extends AsyncDisposable {
  readonly process: ChildProcess;
  readonly dataDir: string;
  readonly ended: Promise<Ended>;
  stdout(): string;
  stderr(): string;
  /** Resolves when it serves; rejects with its log when it ended before. */
  ready(): Promise<DaemonRecord>;
  get(path: string): Promise<{ readonly status: number; readonly body: unknown }>;
  status(): Promise<StatusDocument>;
  /** Resolves when at least this many messages have their outcome and nothing is left to do or to send. */
  settled(messages: number, timeoutMs?: number): Promise<StatusDocument>;
  /** Sends the signal and resolves when the process is gone. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
}

/** The tool `count` of `fault-daemon.ts` writes a line here per run. */
export function countFile(dir: string): string {
  return join(dir, 'count');
}

/** Starts the real program; with `killAt` its twin of `fault-daemon.ts`. Does not wait until it is ready. */
export async function startChild(options: ChildOptions): Promise<ChildDaemon> {
  const { dir, env = {}, wrapper = [], killAt } = options;
  const dataDir = join(dir, 'data');
  const file = join(dir, 'config.json');
  await mkdir(dataDir, { recursive: true });
  if (options.config !== undefined) await writeFile(file, JSON.stringify(options.config));
  const program =
    killAt === undefined
      ? [join(SOURCES, 'cli/main.ts'), 'gateway', '--config', file, '--data-dir', dataDir, ...(options.args ?? [])]
      : [join(SOURCES, 'testing/fault-daemon.ts'), file, dataDir, killAt, countFile(dir)];
  const [command = '', ...args] = [...wrapper, process.execPath, '--import', GUARD, ...program];
  const child = spawn(command, args, {
    cwd: dir,
    // Nothing of this process's environment but what any program needs.
    env: { PATH: process.env['PATH'], HOME: dir, TMPDIR: tmpdir(), ...env },
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
  let gone: Ended | undefined;
  const ended = once(child, 'close').then(([code, signal]: unknown[]) => {
    gone = { code: code as number | null, signal: signal as NodeJS.Signals | null };
    return gone;
  });
  const alive = (): void => {
    if (gone) throw new Error(`the daemon ended with ${gone.code ?? gone.signal}: ${stderr}`);
  };
  // The record alone may be one that an earlier start left behind.
  const ready = (): Promise<DaemonRecord> =>
    until(
      'the daemon serves',
      async () => {
        alive();
        if (!/ ready in [\d.]+ s\n/.test(stderr)) return undefined;
        // As the process sees it: it may have file systems of its own mounted.
        return await readFile(join(`/proc/${child.pid}/root`, dataDir, 'daemon.json'), 'utf8').then(
          (text) => JSON.parse(text) as DaemonRecord,
          () => undefined,
        );
      },
      START_MS,
    );
  const get = async (path: string) => {
    const { port } = await ready();
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
    return { status: response.status, body: (await response.json()) as unknown };
  };
  const status = async () => (await get('/status')).body as StatusDocument;
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> => {
    if (!gone) child.kill(signal);
    return await ended;
  };
  return {
    process: child,
    dataDir,
    ended,
    stdout: () => stdout,
    stderr: () => stderr,
    ready,
    get,
    status,
    settled: async (messages, timeoutMs) => {
      let last: StatusDocument | undefined;
      try {
        return await until(
          `${messages} messages are settled`,
          async () => {
            alive();
            last = await status();
            return isSettled(last, messages) ? last : undefined;
          },
          timeoutMs,
        );
      } catch (error) {
        throw new Error(`not settled: ${JSON.stringify(last?.journal)}\n${stderr}`, { cause: error });
      }
    },
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop('SIGKILL');
    },
  };
}

function isSettled({ journal }: StatusDocument, messages: number): boolean {
  const { inbox, outbox } = journal;
  return inbox.DONE + inbox.DEAD >= messages && inbox.NEW + inbox.RUNNING + outbox.PENDING + outbox.SENDING === 0;
}
