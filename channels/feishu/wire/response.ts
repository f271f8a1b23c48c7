/** One HTTP answer of the platform -> its body, its file, or why it is a failure. */
import type { Readable } from 'node:stream';
import { CallError } from '../../kit/call-error.ts';
import { obj, parseJson } from '../../kit/json.ts';
import { readText } from '../../kit/read-text.ts';
import { callError } from './failure.ts';
import { stringOf } from './fields.ts';

export interface WireResponse {
  /** Parsed JSON; undefined with a stream. */
  readonly body: unknown;
  /** The unread file. Whoever takes it must read or destroy it. */
  readonly stream?: Readable;
  /** Bytes as the platform states them. */
  readonly size?: number;
}

export interface RawResponse {
  readonly status: number;
  readonly headers: unknown;
  readonly data: unknown;
}

/** Rejects with a `CallError` for every answer that is no success. */
export async function readResponse(
  response: RawResponse,
  options: { readonly stream: boolean; readonly maxBytes: number },
): Promise<WireResponse> {
  const stream = response.data as Readable;
  // A file may be JSON itself; only an answer is no attachment.
  const attached = headerOf(response, 'content-disposition') !== undefined;
  const json = !attached && headerOf(response, 'content-type')?.includes('json') === true;
  if (options.stream && response.status === 200 && !json) {
    const size = Number(headerOf(response, 'content-length') ?? Number.NaN);
    return { body: undefined, stream, ...(Number.isSafeInteger(size) && { size }) };
  }
  const body = obj(parseJson(await readText(stream, options.maxBytes)));
  const code = typeof body['code'] === 'number' ? body['code'] : undefined;
  if (response.status === 200 && code === 0) return { body };
  const { status } = response;
  // A page of some proxy is not told: it may be long, and says nothing about the call.
  const description = stringOf(body['msg']).slice(0, 300) || 'no readable answer';
  if (status < 300 && code === undefined) throw new CallError('request', { kind: 'lost', detail: `${status} ${description}` });
  const retryAfterMs = waitOf(response);
  throw callError('request', {
    kind: 'api',
    status,
    code: code ?? 0,
    detail: description,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** Seconds until it ends: https://open.feishu.cn/document/server-docs/api-call-guide/frequency-control */
function waitOf(response: RawResponse): number | undefined {
  const stated = headerOf(response, 'x-ogw-ratelimit-reset') ?? headerOf(response, 'retry-after');
  const seconds = stated === undefined ? Number.NaN : Number(stated);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, 3_600) * 1_000 : undefined;
}

function headerOf(response: RawResponse, name: string): string | undefined {
  const value = (response.headers as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' ? value : undefined;
}
