/** The worker as a process: on a descriptor that it was given, or on a socket. */
import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import { createServer, type Server, Socket } from 'node:net';
import { GatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import { startTimer } from '../lib/timer.ts';
import { serveConnection } from './worker.ts';

/** Where the system puts the first socket that it opened for a service. */
const FIRST_GIVEN_FD = 3;
/** Without a connection a worker of the system ends after this: the next one starts it again. */
const IDLE_MS = 600_000;

export type WorkerAddress =
  /** A connection that the parent holds the other end of. */
  | { readonly fd: number }
  /** A socket that the system listens on for us. */
  | 'given'
  /** A path that we listen on. */
  | { readonly socket: string };

/** Serves until the connection of the parent ends, nobody has connected for a while, or `stop` aborts. */
export async function serveWorker(address: WorkerAddress, clock: Clock, stop: AbortSignal): Promise<void> {
  if (address !== 'given' && 'fd' in address) {
    const stream = new Socket({ fd: address.fd });
    stop.addEventListener('abort', () => stream.destroy(), { once: true });
    stream.resume();
    await serveConnection(stream, clock);
    return;
  }
  const serving = new Set<Promise<void>>();
  const over = new AbortController();
  let idle: (() => void) | undefined;
  const rest = (): void => {
    if (address === 'given') idle = startTimer(clock, IDLE_MS, () => over.abort());
  };
  const server = createServer((socket) => {
    idle?.();
    stop.addEventListener('abort', () => socket.destroy(), { once: true });
    const served = serveConnection(socket, clock).finally(() => {
      serving.delete(served);
      if (serving.size === 0) rest();
    });
    serving.add(served);
  });
  await listen(server, address);
  rest();
  await Promise.race([abortOf(stop), abortOf(over.signal)]);
  idle?.();
  server.close();
  await Promise.all(serving);
}

async function listen(server: Server, address: 'given' | { readonly socket: string }): Promise<void> {
  const before = process.umask(0o177);
  try {
    // A socket that a killed worker left answers nobody.
    if (address !== 'given') await rm(address.socket, { force: true });
    server.listen(address === 'given' ? { fd: FIRST_GIVEN_FD } : { path: address.socket });
    await once(server, 'listening');
    if (address !== 'given') await chmod(address.socket, 0o600);
  } catch (error) {
    throw new GatehouseError('GH2011', 'the socket of the worker cannot be opened', { cause: error });
  } finally {
    process.umask(before);
  }
}

function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
