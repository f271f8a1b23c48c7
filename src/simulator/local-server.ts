import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * A platform as the simulator plays it, for programs of this machine alone: it takes words in the name of any
 * person, so a page that a browser shows must not reach it (A41). Answers 403 to what a page can send: a call
 * under another name than the machine's own (DNS rebinding), or one that says which page it is of.
 *
 * `origin`: what clients of the platform that are no pages say all the same.
 */
export function createLocalServer(listener: RequestListener, origin?: string): Server {
  return createServer((request, response) => {
    if (isOfProgram(request, origin)) listener(request, response);
    else response.writeHead(403).end('only programs of this machine are answered');
  });
}

/**
 * As `createLocalServer`, for the listener of `upgrade`: of a page the socket is ended, and the result is
 * false.
 */
export function isTaken(request: IncomingMessage, socket: Duplex, origin?: string): boolean {
  const isTaken = isOfProgram(request, origin);
  if (!isTaken) socket.destroy();
  return isTaken;
}

function isOfProgram({ headers, socket }: IncomingMessage, own?: string): boolean {
  const { host, origin, 'sec-fetch-site': site } = headers;
  const hosts = ['127.0.0.1', 'localhost'].map((name) => `${name}:${socket.localPort}`);
  return (origin === undefined || origin === own) && site === undefined && hosts.includes(host ?? '');
}
