import { errorCodeOf } from '../kit/http-agent.ts';

/** Why a call failed, by what a caller can do about it. Holds neither a secret nor a URL with one. */
export type CallFailure =
  /** The platform answered with an error code. */
  | { readonly kind: 'api'; readonly errcode: number; readonly errmsg: string }
  /** Something in between answered: a proxy, a gateway. */
  | { readonly kind: 'http'; readonly status: number }
  /** The request never reached the platform: refused, no route, no name, no TLS. */
  | { readonly kind: 'unreached'; readonly detail: string }
  /** The request left and no readable answer came back. */
  | { readonly kind: 'lost'; readonly detail: string };

export class CallError extends Error {
  /** `message/send`, `gettoken`: what failed, below `/cgi-bin/`. */
  readonly method: string;
  readonly failure: CallFailure;

  constructor(method: string, failure: CallFailure) {
    super(`${method}: ${describe(failure)}`);
    this.name = 'CallError';
    this.method = method;
    this.failure = failure;
  }

  /** The platform said no, or never heard of it. "System busy" (-1) is no answer to whether it took the message. */
  get provenUnsent(): boolean {
    return this.failure.kind === 'unreached' || (this.failure.kind === 'api' && this.failure.errcode !== -1);
  }
}

function describe(failure: CallFailure): string {
  switch (failure.kind) {
    case 'api':
      return `${failure.errcode} ${failure.errmsg}`.trim();
    case 'http':
      return `HTTP ${failure.status} instead of an answer`;
    default:
      return failure.detail;
  }
}

/** Met while connecting: nothing was sent. TLS errors come before the request, too. */
const BEFORE_THE_REQUEST =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|CERT_\w+|UNABLE_TO_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|ERR_TLS_CERT_ALTNAME_INVALID|ERR_SSL_\w+)$/;

/** What `fetch` rejected with. Its message is not passed on: it may spell out the URL. */
export function toFailure(error: unknown): CallFailure {
  const code = errorCodeOf(error);
  if (code !== undefined && BEFORE_THE_REQUEST.test(code)) return { kind: 'unreached', detail: `not connected: ${code}` };
  return { kind: 'lost', detail: `the connection broke before an answer (${code ?? 'no usable reply'})` };
}
