import { readFile } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type DaemonRecord, type StatusDocument, statusHeaders } from '../core/status.ts';
import { isErrno } from '../lib/errno.ts';
import type { Failure } from './output.ts';

/** A daemon on this machine answers in milliseconds; one that does not for this long is as good as down. */
const TIMEOUT_MS = 2_000;

export type DaemonStatus =
  | { readonly kind: 'up'; readonly status: StatusDocument }
  /** `detail` says how we know. `hanging`: id of a process that may still hold the data directory. */
  | { readonly kind: 'down'; readonly detail: string; readonly hanging?: number };

/**
 * Asks the daemon of a data directory how it is. A kill may have left `daemon.json`, and another program may
 * have its port since, so an answer counts only when it names the recorded process. Rejects with the system's
 * error where this user may not look.
 */
export async function askDaemon(dataDir: string): Promise<DaemonStatus> {
  const record = await readRecord(join(dataDir, 'daemon.json'));
  if (!record) return { kind: 'down', detail: `no daemon is registered in ${dataDir}` };
  const url = `http://${connectableHost(record.host)}:${record.port}/status`;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    // By an agent of its own, which knows no proxy: one of the environment would be given the token.
    get(url, { headers: statusHeaders(record), signal, agent: new Agent() }, resolve).on('error', reject);
    const response = await promise;
    const status = JSON.parse(await text(response)) as Partial<StatusDocument> | null;
    if (response.statusCode === 200 && isStatus(status) && status.pid === record.pid) return { kind: 'up', status };
    return { kind: 'down', detail: `something else answers at ${url}` };
  } catch {
    const slow = signal.aborted;
    const detail = `process ${record.pid} does not answer at ${url}`;
    if (!slow) return { kind: 'down', detail };
    return { kind: 'down', detail: `${detail} within ${TIMEOUT_MS / 1000} s`, hanging: record.pid };
  }
}

/**
 * The failure to print where a command needs a running daemon. One that hangs still holds the data directory
 * (GH1201).
 */
export function notRunning({ detail, hanging: pid }: Extract<DaemonStatus, { readonly kind: 'down' }>): Failure {
  const start = 'start it with `gatehouse gateway`';
  if (pid === undefined) return { code: 'GH1002', message: `the daemon is not running: ${detail}`, hint: start };
  const hint = `if \`ps -p ${pid}\` still shows it, stop it first (\`kill ${pid}\`), then ${start}`;
  return { code: 'GH1002', message: detail, hint };
}

async function readRecord(path: string): Promise<DaemonRecord | undefined> {
  try {
    const record = JSON.parse(await readFile(path, 'utf8')) as Partial<DaemonRecord> | null;
    if (typeof record?.pid !== 'number' || typeof record.port !== 'number' || typeof record.host !== 'string') return undefined;
    return record as DaemonRecord;
  } catch (error) {
    // A daemon of another user may well run there.
    if (isErrno(error, 'EACCES', 'EPERM')) throw error;
    return undefined; // absent, or cut off by a kill: no daemon that could be asked
  }
}

/** A wildcard is an address to listen on, none to connect to. */
function connectableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

function isStatus(value: Partial<StatusDocument> | null): value is StatusDocument {
  return (
    value !== null &&
    typeof value === 'object' &&
    typeof value.version === 'string' &&
    typeof value.startedAt === 'number' &&
    Array.isArray(value.channels) &&
    Array.isArray(value.lastErrors) &&
    Array.isArray(value.degraded) &&
    [value.model, value.journal, value.lanes, value.usageToday].every((part) => part !== null && typeof part === 'object')
  );
}
