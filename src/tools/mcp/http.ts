/** Requests to a server on HTTP: where they may go, and how much of an answer is read. */
import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isPublicAddress } from '../../egress/public-address.ts';
import { MAX_MESSAGE_BYTES } from './transport.ts';

/** As the platform's `fetch`, in the form that the SDK calls it. */
export type McpFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

const CONNECT_MS = 10_000;
/** Streams that a server may make us open anew: it says itself how soon. */
const MAX_STREAMS = 20;
const STREAMS_MS = 60_000;

/** Every address of a name must be public, and the connection goes to one of those that were checked. */
const publicLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (error, found) => {
    if (error) return callback(error, []);
    const refused = found.find(({ address }) => !isPublicAddress(address));
    if (refused || found.length === 0) return callback(refusal(hostname), []);
    if (options.all) return callback(null, found);
    const [first] = found;
    callback(null, first?.address ?? '', first?.family);
  });
};

function refusal(host: string): Error {
  return Object.assign(new Error(`${host} is an address in a private network or of this machine`), { code: 'EPRIVATE' });
}

/** Node publishes its dispatcher under this symbol (undici, lib/global.js): its class makes another one. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

/**
 * The platform's `fetch`, which connects to public addresses only unless `allowPrivate`. Names are checked as
 * they are connected to, addresses that stand in the URL before that.
 */
export function addressedFetch(allowPrivate: boolean): McpFetch {
  if (allowPrivate) return (url, init) => fetch(url, init);
  let dispatcher: object | undefined;
  return async (url, init) => {
    const { hostname } = new URL(url);
    const literal = hostname.replace(/^\[|\]$/g, '');
    if ((isIP(literal) !== 0 && !isPublicAddress(literal)) || /^(?:.*\.)?localhost\.?$/i.test(literal)) throw refusal(hostname);
    dispatcher ??= newDispatcher();
    return await fetch(url, { ...init, dispatcher } as RequestInit);
  };
}

function newDispatcher(): object {
  // Node loads undici, and with it the dispatcher, when the first of its classes is used.
  void new Headers();
  const { constructor: Agent } = Reflect.get(globalThis, GLOBAL_DISPATCHER) as { constructor: new (options: object) => object };
  return new Agent({ connect: { timeout: CONNECT_MS, lookup: publicLookup } });
}

/**
 * Of each answer at most a message is read, of a stream of events at most one for each event. A stream that a
 * server ends at once is opened again twenty times a minute at most. `onBytes` is told the length of each
 * piece before it is read; what it throws ends the answer.
 */
export function limitedFetch(base: McpFetch, now: () => number, onBytes: (bytes: number) => void): McpFetch {
  let opened: number[] = [];
  return async (url, init) => {
    if ((init?.method ?? 'GET') === 'GET') {
      opened = opened.filter((at) => now() - at < STREAMS_MS);
      if (opened.length >= MAX_STREAMS) throw new Error(`it ended ${MAX_STREAMS} streams within a minute`);
      opened.push(now());
    }
    const answer = await base(url, init);
    if (!answer.body) return answer;
    const isStream = answer.headers.get('content-type')?.trim().toLowerCase().startsWith('text/event-stream') === true;
    const body = answer.body.pipeThrough(limit(isStream, onBytes));
    const { status, statusText, headers } = answer;
    // The SDK asks an answer where it came from when it tells of a redirect.
    return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', { value: answer.url });
  };
}

const LINE_END = 10;
const RETURN = 13;

function limit(isStream: boolean, onBytes: (bytes: number) => void): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let isEmptyLine = false;
  return new TransformStream({
    transform(chunk, controller) {
      onBytes(chunk.length);
      for (const byte of chunk) {
        bytes += 1;
        if (!isStream || byte === RETURN) continue;
        // An empty line ends an event.
        if (byte === LINE_END && isEmptyLine) bytes = 0;
        isEmptyLine = byte === LINE_END;
        if (bytes > MAX_MESSAGE_BYTES) break;
      }
      if (bytes > MAX_MESSAGE_BYTES) controller.error(new Error(`it sent a message of more than ${MAX_MESSAGE_BYTES} bytes`));
      else controller.enqueue(chunk);
    },
  });
}
