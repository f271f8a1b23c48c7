/** The page of the simulator and its API, on 127.0.0.1, for people and programs of this machine (A41). */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { errorText, GatehouseError, isGatehouseError } from '../core/errors.ts';
import { packageRoot } from '../lib/package-info.ts';
import type { Simulation, SimulationEvent } from './simulation.ts';
import type { ChatMessage } from './transcript.ts';

/** Files of the page: next to the sources in a checkout, and at the same place in the installed package. */
const PAGE = 'src/simulator/page';
const FILES: Readonly<Record<string, readonly [name: string, type: string]>> = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
};
const MOST_BYTES = 128 * 1_024;
/** Of a body with a file in it, which base64 makes a third larger. */
const MOST_BYTES_OF_FILE = 4 * 1_024 * 1_024;
/** Nothing inline, nothing from elsewhere, in no frame: whatever text a bot or a person writes stays text. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface SimulatorServer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`, without a slash at its end. */
  readonly url: string;
}

/** Serves until disposed. Rejects with GH1004 when the port is taken. `port` 0 = any free one. */
export async function startSimulatorServer(simulation: Simulation, port: number): Promise<SimulatorServer> {
  const server = createServer({ requestTimeout: 10_000, maxHeaderSize: 16_384 }, (request, response) => {
    answer(request, response).catch((error: unknown) => fail(response, error));
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    mustBeOurs(request, (server.address() as AddressInfo).port);
    await route(simulation, request, response);
  };
  await listen(server, port);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch (error) {
    throw new GatehouseError('GH1004', `cannot listen on 127.0.0.1:${port}: ${errorText(error)}`, {
      hint: 'choose another `--port`, or leave it out for a free one',
      cause: error,
    });
  }
}

/**
 * Another site's page can have a browser call us, by name after DNS rebinding (Host) or as itself (Origin).
 */
function mustBeOurs({ method, headers }: IncomingMessage, port: number): void {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  if (!hosts.includes(headers.host ?? '')) throw new Refusal(403, 'only calls to 127.0.0.1 are answered');
  const { origin } = headers;
  if (origin !== undefined && !hosts.some((host) => origin === `http://${host}`))
    throw new Refusal(403, 'calls of other web pages are refused');
  // A form of another page can send anything but this type without asking first.
  if (method === 'POST' && !/^application\/json(?:;|$)/i.test(headers['content-type'] ?? ''))
    throw new Refusal(415, 'the body must be JSON: send `content-type: application/json`');
}

async function route(simulation: Simulation, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  const call = `${request.method} ${path}`;
  const file = request.method === 'GET' ? FILES[path] : undefined;
  if (file) return await sendFile(response, ...file);
  const [, where, number, what] = /^POST \/(people|groups)\/(\d{1,6})\/(messages|files)$/.exec(call) ?? [];
  const written = await write(simulation, `${where}/${what}`, Number(number), request);
  if (written) return send(response, 200, { ok: true, message: written });
  switch (call) {
    case 'GET /messages':
      return send(response, 200, {
        ...{ run: simulation.run, channel: simulation.type, faults: simulation.faults, plays: simulation.plays },
        ...(simulation.letIn === undefined ? {} : { letIn: simulation.letIn }),
        ...(await simulation.now()),
      });
    case 'GET /events':
      return await sendEvents(simulation, response);
    case 'POST /faults': {
      const { kind, times } = await readJson(request);
      return send(response, 200, { ok: true, fault: simulation.fault(kind, times) });
    }
    case 'GET /favicon.ico':
      response.writeHead(204, HEADERS).end();
      return;
    default:
      throw new Refusal(
        404,
        'there are GET /, /messages, /events and POST /people/N/messages, /people/N/files, /groups/N/messages, /faults',
      );
  }
}

/** What a person wrote or sent; undefined: the address is no such thing. */
async function write(
  simulation: Simulation,
  kind: string,
  number: number,
  request: IncomingMessage,
): Promise<ChatMessage | undefined> {
  if (kind === 'people/messages') return await simulation.write(number, (await readJson(request))['text']);
  if (kind === 'groups/messages') return await simulation.writeInGroup(number, await readJson(request));
  if (kind === 'people/files') return await simulation.sendFile(number, await readJson(request, MOST_BYTES_OF_FILE));
  return undefined;
}

async function sendFile(response: ServerResponse, name: string, type: string): Promise<void> {
  const bytes = await readFile(join(packageRoot(), PAGE, name));
  response.writeHead(200, { ...HEADERS, 'content-type': type });
  response.end(bytes);
}

/**
 * First everything there is, then everything that happens: a page that reconnects misses nothing, and an id
 * seen twice is one message.
 */
async function sendEvents(simulation: Simulation, response: ServerResponse): Promise<void> {
  response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' });
  const write = (event: SimulationEvent): void => {
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  };
  const { messages, waiting, typing } = await simulation.now();
  write({ type: 'run', run: simulation.run });
  for (const message of messages) write({ type: 'message', message });
  write({ type: 'present', ids: messages.map(({ id }) => id) });
  write({ type: 'waiting', waiting });
  write({ type: 'typing', people: typing });
  const watching = simulation.watch(write);
  response.once('close', () => watching[Symbol.dispose]());
  if (response.closed) watching[Symbol.dispose]();
}

async function readJson(request: IncomingMessage, most = MOST_BYTES): Promise<Readonly<Record<string, unknown>>> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > most) throw new Refusal(413, `a body may hold ${most} bytes`);
    parts.push(part);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(parts).toString('utf8'));
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch (error) {
    throw new Refusal(400, `the body is not JSON: ${errorText(error)}`);
  }
  throw new Refusal(400, 'the body must be a JSON object');
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { ...HEADERS, 'content-type': 'application/json' });
  response.end(`${JSON.stringify(body)}\n`);
}

function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  const known = isGatehouseError(error);
  const status = error instanceof Refusal ? error.status : known ? 400 : 500;
  // What was not read of a refused body must not be taken for the next request.
  response.setHeader('connection', 'close');
  send(response, status, { ok: false, error: { message: errorText(error), ...(known ? { hint: error.hint } : {}) } });
}
