/** Calls of the API as the server passes them around. */
import type { IncomingMessage } from 'node:http';

/** What becomes of the next call whose `METHOD /path` matches. */
export type FeishuFault = { readonly match: RegExp } & (
  | {
      readonly kind: 'error';
      readonly status: number;
      readonly code: number;
      readonly msg?: string;
      readonly headers?: Record<string, string>;
    }
  /** Done, and the connection broken before the answer. */
  | { readonly kind: 'drop' }
  /** Done, and answered after so many ms. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Done, and never answered. */
  | { readonly kind: 'hang' }
  /** Not done, and answered with something that is not the API. */
  | { readonly kind: 'page'; readonly status: number; readonly headers?: Record<string, string> }
);

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export interface Answer {
  readonly status?: number;
  readonly json?: object;
  readonly bytes?: Buffer;
}

export function ok(body: object): Answer {
  return { json: { code: 0, msg: 'success', ...body } };
}
