/** A daemon as a test sees it, in a process of its own (`child-daemon.ts`) or not (`inline-daemon.ts`). */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DaemonRecord, type StatusDocument, statusHeaders } from '../core/status.ts';
import { until } from './fakes.ts';

/** A start takes a second, twenty times as long on a busy machine. One that failed is noticed at once. */
const START_MS = 30_000;

export interface DaemonFiles {
  /** Holds `config.json` and, below `data`, the data directory; made when absent. */
  readonly dir: string;
  /** Written before the start; absent = the file of an earlier start, or none. */
  readonly config?: unknown;
  readonly env?: Readonly<Record<string, string>>;
  /** Behind the command `gateway`. */
  readonly args?: readonly string[];
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What is read of it. */
export interface WatchedDaemon {
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
}

/** Disposing of it ends it at once, as a kill does where it is a process. */
export interface RunningDaemon extends WatchedDaemon, AsyncDisposable {
  /** Asks it to stop in order and resolves when it has. */
  stop(): Promise<Ended>;
}

export interface WatchOptions {
  readonly dataDir: string;
  readonly ended: Promise<Ended>;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly recordFile: () => string;
}

/** Resolves to where the config file and the data directory are, which exists. */
export async function writeDaemonFiles({ dir, config }: DaemonFiles): Promise<{ dataDir: string; file: string }> {
  const dataDir = join(dir, 'data');
  const file = join(dir, 'config.json');
  await mkdir(dataDir, { recursive: true });
  if (config !== undefined) await writeFile(file, JSON.stringify(config));
  return { dataDir, file };
}

export function watchDaemon({ dataDir, ended, stdout, stderr, recordFile }: WatchOptions): WatchedDaemon {
  let gone: Ended | undefined;
  ended.then(
    (how) => {
      gone = how;
    },
    () => undefined,
  );
  const alive = (): void => {
    if (gone) throw new Error(`the daemon ended with ${gone.code ?? gone.signal}: ${stderr()}`);
  };
  // The record alone may be one that an earlier start left behind.
  const ready = (): Promise<DaemonRecord> =>
    until(
      'the daemon serves',
      async () => {
        alive();
        if (!/ ready in [\d.]+ s\n/.test(stderr())) return undefined;
        return await readFile(recordFile(), 'utf8').then(
          (text) => JSON.parse(text) as DaemonRecord,
          () => undefined,
        );
      },
      START_MS,
    );
  const get = async (path: string) => {
    const record = await ready();
    const response = await fetch(`http://127.0.0.1:${record.port}${path}`, { headers: statusHeaders(record) });
    return { status: response.status, body: (await response.json()) as unknown };
  };
  const status = async () => (await get('/status')).body as StatusDocument;
  return {
    dataDir,
    ended,
    stdout,
    stderr,
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
        throw new Error(`not settled: ${JSON.stringify(last?.journal)}\n${stderr()}`, { cause: error });
      }
    },
  };
}

function isSettled({ journal }: StatusDocument, messages: number): boolean {
  const { inbox, outbox } = journal;
  return inbox.DONE + inbox.DEAD >= messages && inbox.NEW + inbox.RUNNING + outbox.PENDING + outbox.SENDING === 0;
}
