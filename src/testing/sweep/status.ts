/** What a daemon of the sweep says of itself. */
import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DaemonRecord, statusHeaders } from '../../core/status.ts';

const LOOK_MS = 40;

interface Status {
  readonly pid: number;
  readonly channels: readonly { readonly state: string }[];
  readonly journal: { readonly inbox: Record<string, number>; readonly outbox: Record<string, number> };
}

export async function statusIn(dir: string): Promise<{ readonly pid: number; readonly status: Status }> {
  const record = JSON.parse(await readFile(join(dir, 'data/daemon.json'), 'utf8')) as DaemonRecord;
  const response = await fetch(`http://127.0.0.1:${record.port}/status`, { headers: statusHeaders(record) });
  return { pid: record.pid, status: (await response.json()) as Status };
}

/** Whether it came to answer; not only what a killed one wrote is there. */
export async function isReady(dir: string, child: ChildProcess): Promise<boolean> {
  while (child.exitCode === null && child.signalCode === null) {
    const answering = await statusIn(dir).catch(() => undefined);
    if (answering?.status.pid === child.pid) return true;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return false;
}
