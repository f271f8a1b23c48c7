/** Daemons for the private mail servers. */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { connect } from 'node:net';

export interface Daemon {
  /** Its first process is gone. */
  readonly ended: Promise<void>;
  /** Ends the process and all it started. `SIGTERM` leaves it up to 5 s to do so. Safe to call twice. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/** Output goes to a file: a daemon that inherited a pipe would hold its reader open after it forked. */
export function spawnDaemon(program: string, args: readonly string[], log: string): Daemon {
  const out = openSync(log, 'a');
  const child = spawn(program, args, { stdio: ['ignore', out, out], detached: true });
  closeSync(out);
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  return {
    ended: gone,
    async stop(signal) {
      child.kill(signal);
      const last = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await gone;
      clearTimeout(last);
      endGroup(child.pid);
    },
  };
}

/** Ends the daemon's group (`detached`): an IMAP session that serves its client outlives its master. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/**
 * Resolves once the daemon listens on all its ports of 127.0.0.1. Rejects after 15 s, and at once when the
 * daemon ends, as it does when one of its ports is taken.
 */
export async function untilListening(name: string, daemon: Daemon, ports: readonly number[]): Promise<void> {
  const ended = daemon.ended.then(() => Promise.reject(new Error(`${name} ended while it started`)));
  await Promise.race([Promise.all(ports.map((port) => accepts(port))), ended]);
}

/** Resolves once something listens on the port of 127.0.0.1; rejects after 15 s. */
export async function accepts(port: number): Promise<void> {
  await waitUntil(() => isOpen(port), `nothing listens on port ${port}`);
}

/** Resolves once nothing listens on the port of 127.0.0.1 any more; rejects after 15 s. */
export async function refuses(port: number): Promise<void> {
  await waitUntil(async () => !(await isOpen(port)), `port ${port} is still held`);
}

async function waitUntil(holds: () => Promise<boolean>, otherwise: string): Promise<void> {
  const end = performance.now() + 15_000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(otherwise);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
