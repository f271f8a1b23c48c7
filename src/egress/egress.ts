/**
 * The way of every tool to other machines: address read and judged -> name looked up, every answer checked ->
 * that very address connected to -> request -> each redirect from the beginning -> body within its limits.
 */
import type { IncomingMessage } from 'node:http';
import type { Egress, EgressRequest, EgressResult } from '../core/egress.ts';
import type { Clock } from '../core/ports.ts';
import { linkedSignal } from '../lib/linked-signal.ts';
import { type Connector, connectTo, RefusedAddress } from './connect.ts';
import { checkDestination, type Destination, type EgressRules } from './destination.ts';
import { exchange, readBody } from './exchange.ts';
import { Patience } from './patience.ts';

const MAX_REDIRECTS = 5;
const CONNECT_MS = 10_000;
const HEAD_MS = 20_000;
/** Between two pieces of a body. */
const SILENCE_MS = 10_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** What another origin may see of a request. */
const HARMLESS = new Set(['accept', 'accept-language', 'user-agent']);

export interface EgressOptions extends Connector {
  readonly clock: Clock;
  /** The operator's word for a tool, asked at each request. */
  readonly rules: (tool: string) => EgressRules;
  /** For what the caller's headers do not say. */
  readonly userAgent: string;
}

/** The function that every request of a tool goes through. */
export function createEgress(options: EgressOptions): Egress {
  return async (request, signal) => {
    signal.throwIfAborted();
    using ended = linkedSignal(signal);
    using patience = new Patience(options.clock, ended.abort);
    patience.overall(request.timeoutMs);
    try {
      return await follow(request, options, patience, ended.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RefusedAddress) return { kind: 'refused', reason: error.message };
      // What broke because a limit ran out says less than the limit.
      return { kind: 'failed', reason: failureText(ended.signal.aborted ? ended.signal.reason : error) };
    } finally {
      // Ends the connection, however far it got.
      ended.abort(new DOMException('the request is over', 'AbortError'));
    }
  };
}

async function follow(
  request: EgressRequest,
  options: EgressOptions,
  patience: Patience,
  signal: AbortSignal,
): Promise<EgressResult> {
  const rules = options.rules(request.tool);
  const { method = 'GET', body, maxBytes } = request;
  let headers = headersOf(request, options.userAgent);
  let from: Destination | undefined;
  let location = request.url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const checked = checkDestination(location, rules, from);
    if (checked.kind === 'refused') return checked;
    const { to } = checked;
    if (from && from.url.origin !== to.url.origin) headers = harmless(headers);
    patience.stage(CONNECT_MS, 'the connection was not set up in time');
    const socket = await connectTo(to, options, signal);
    patience.stage(HEAD_MS, 'the server did not answer in time');
    const answer = await exchange(socket, { to, method, headers, body }, signal);
    const next = method === 'GET' && REDIRECTS.has(answer.statusCode ?? 0) ? answer.headers.location : undefined;
    if (next === undefined) {
      const stillComing = (): void => patience.stage(SILENCE_MS, 'the server stopped in the middle of its answer');
      stillComing();
      const read = await readBody(answer, maxBytes, stillComing);
      return { kind: 'answer', url: to.url.href, status: answer.statusCode ?? 0, headers: headersFrom(answer), ...read };
    }
    // The words of a redirect are not read.
    answer.destroy();
    from = to;
    // Servers write UTF-8, and Node reads Latin-1.
    location = Buffer.from(next, 'latin1').toString();
  }
  return { kind: 'refused', reason: `more than ${MAX_REDIRECTS} redirects` };
}

/** With their names in small letters, so that one name is one header. */
function headersOf({ headers = {} }: EgressRequest, userAgent: string): Readonly<Record<string, string>> {
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  // What is not packed cannot be a bomb; what a server packs all the same is unpacked within the limit.
  return { 'user-agent': userAgent, 'accept-encoding': 'identity', ...Object.fromEntries(given) };
}

function harmless(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => HARMLESS.has(name) || name === 'accept-encoding'));
}

function headersFrom({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  return headers;
}

/** What codes mean to the model; the words of such errors name addresses. */
const MEANINGS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host could not be looked up',
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the server broke the connection',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the host cannot be reached',
  ETIMEDOUT: 'the connection was not set up in time',
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too long',
  CERT_HAS_EXPIRED: 'the TLS certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the TLS certificate is not signed by a trusted authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'the TLS certificate is not signed by a trusted authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the TLS certificate is not signed by a trusted authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the TLS certificate is for another host',
};

function failureText(error: unknown): string {
  const of = error instanceof AggregateError ? error.errors[0] : error;
  if (!(of instanceof Error)) return 'the request failed';
  const code = 'code' in of && typeof of.code === 'string' ? of.code : undefined;
  if (code === undefined) return of.message;
  if (code.startsWith('Z_') || code.startsWith('ERR__ERROR_') || code === 'ERR_BROTLI') return 'the packed answer is damaged';
  return MEANINGS[code] ?? `the request failed (${code})`;
}
