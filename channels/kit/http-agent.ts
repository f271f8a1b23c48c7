import { type ClientRequest, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';

/** A connection that is not set up by then has sent nothing, so the message may be tried again. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Put in front of the code of every error that a connection met before it could carry a request. */
const NOT_CONNECTED = 'not connected: ';

export interface HttpAgentOptions {
  readonly tls: boolean;
  /** Whether connections are kept for the next request. Default true. */
  readonly keepAlive?: boolean;
  /** Told about each connection before it is set up. */
  readonly onSocket?: (socket: Duplex) => void;
}

/**
 * Connections for one account, ended with `destroy`. An error met before a connection could carry a request
 * has a code for which `notConnected` is true, also after an SDK wrapped it: then nothing was sent.
 */
export function createHttpAgent({ tls, keepAlive = true, onSocket }: HttpAgentOptions): HttpAgent | HttpsAgent {
  // An idle connection is dropped long before the platform would drop it. When the other side has just closed
  // a connection, the fate of a request written to it is unknown.
  const options = keepAlive ? { keepAlive, timeout: 15_000 } : { keepAlive };
  const agent = tls ? new HttpsAgent(options) : new HttpAgent(options);
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (target, callback) => {
    const socket = connect(target, callback);
    if (!socket) return socket;
    onSocket?.(socket);
    // What fails by now (name, route, port, TLS) proves that nothing was sent. Only the code survives the
    // wrapping of SDKs, and this listener comes before those of the HTTP client.
    const onError = (error: Error): void => {
      // Not assigned: the code of a DOMException, such as an abort's reason, has no setter.
      Object.defineProperty(error, 'code', { value: `${NOT_CONNECTED}${errorCodeOf(error) ?? 'no code'}`, configurable: true });
    };
    socket.on('error', onError);
    limitConnecting(socket, tls, () => socket.removeListener('error', onError));
    return socket;
  };
  return agent;
}

/**
 * Calls `onConnected` once the connection of a request stands, before the first byte is written: a request
 * that fails earlier has sent nothing. One that does not connect in time fails with ETIMEDOUT.
 */
export function whenConnected(request: ClientRequest, tls: boolean, onConnected: () => void): void {
  request.once('socket', (socket) => {
    // One that is kept alive stands already.
    if (socket.connecting) limitConnecting(socket, tls, onConnected);
    else onConnected();
  });
}

function limitConnecting(socket: Duplex, tls: boolean, onConnected: () => void): void {
  const timer = setTimeout(() => {
    socket.destroy(Object.assign(new Error('connection not set up in time'), { code: 'ETIMEDOUT' }));
  }, CONNECT_TIMEOUT_MS);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
  socket.once(tls ? 'secureConnect' : 'connect', () => {
    clearTimeout(timer);
    onConnected();
  });
}

/** Whether the code is of a request that never left. */
export function notConnected(code: string | undefined): code is string {
  return code?.startsWith(NOT_CONNECTED) === true;
}

/** The first code along the causes of an error. */
export function errorCodeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth += 1) {
    if ('code' in at && typeof at.code === 'string') return at.code;
    // Several addresses of one name were tried: each failed for a reason of its own.
    if (at instanceof AggregateError) return errorCodeOf(at.errors[0]);
  }
  return undefined;
}
