/** Ways to a worker: a process of our own, or the socket of one that the system starts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { GatehouseError } from '../core/errors.ts';
import type { Logger } from '../core/ports.ts';
import { LineSplitter } from './line-splitter.ts';

export type Connect = () => Promise<Duplex>;

/** The worker holds no more than what it passes on. MB. */
const HEAP_MB = 96;

export interface ChildOptions {
  /** The program of the command line: `src/cli/main.ts`, or what was made of it. */
  readonly main: string;
  /** Where it finds programs; the rest of our environment, with its secrets, stays here. */
  readonly path: string;
  readonly logger: Logger;
}

/**
 * Starts a worker as our child, which ends with its connection. It has a session of its own: Ctrl-C on the
 * terminal is for us, who still wait for what it runs. Rejects with GH2011 when it does not start.
 */
export function childWorker({ main, path, logger }: ChildOptions): Connect {
  return async () => {
    const bounds = [`--max-old-space-size=${HEAP_MB}`, '--max-semi-space-size=2'];
    const child = spawn(process.execPath, [...bounds, main, 'tools', 'worker', '--fd', '3'], {
      ...{ cwd: '/', env: { PATH: path }, shell: false, windowsHide: true, detached: true },
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    });
    try {
      await once(child, 'spawn');
    } catch (error) {
      throw new GatehouseError('GH2011', 'the process that runs programs cannot be started', { cause: error });
    }
    // Only now: where no descriptor is left for them, there are no pipes.
    const lines = new LineSplitter((line) => logger.warn('worker.said', { line }));
    child.stderr?.on('data', (chunk: Buffer) => lines.write(chunk));
    const stream = child.stdio[3] as Duplex;
    stream.on('error', () => undefined);
    // Whatever it still does when its connection ends, it must not do without us.
    stream.once('close', () => child.kill('SIGTERM'));
    child.once('exit', () => stream.destroy());
    // It ends with its connection, and does not keep us from ending.
    child.unref();
    return stream;
  };
}

/** Connects to a worker that listens. Rejects with GH2011. */
export function socketWorker(path: string): Connect {
  return async () => {
    const socket = connect(path);
    try {
      await once(socket, 'connect');
      return socket;
    } catch (error) {
      const hint = 'enable gatehouse-tools.socket, or remove sandbox.worker_socket from the config';
      throw new GatehouseError('GH2011', 'the process that runs programs cannot be reached', { hint, cause: error });
    }
  };
}
