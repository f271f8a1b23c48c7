/** Why a call failed, and what that means for a send. Codes: the tables below each method at open.feishu.cn/document/server-docs/im-v1. */
import type { SendResult } from '../../src/core/channel.ts';

/** By what a caller can do about it. Holds no secret. */
export type CallFailure =
  /** The platform answered with an error; `code` is its own number, 0 when the body held none. */
  | {
      readonly kind: 'api';
      readonly status: number;
      readonly code: number;
      readonly description: string;
      readonly retryAfterMs?: number;
    }
  /** The request never reached the platform: refused, no route, no name, no TLS. */
  | { readonly kind: 'unreached'; readonly detail: string }
  /** The request left and no readable answer came back. */
  | { readonly kind: 'lost'; readonly detail: string };

export class CallError extends Error {
  readonly failure: CallFailure;

  constructor(what: string, failure: CallFailure) {
    super(`${what}: ${failure.kind === 'api' ? `${failure.code || failure.status} ${failure.description}` : failure.detail}`);
    this.name = 'CallError';
    this.failure = failure;
  }
}

/** A tenant token the platform does not take any more (99991663), misses (99991661) or cannot read (99991671, 99991664, 99991665). */
const STALE_TOKEN: ReadonlySet<number> = new Set([99991661, 99991663, 99991664, 99991665, 99991671]);
/** Too often: the gateway, the tenant's message service, one chat. */
const TOO_OFTEN: ReadonlySet<number> = new Set([99991400, 11232, 230020]);
const CHAT_TOO_OFTEN = 230020;
/** The first send of the same uuid has not ended. */
const STILL_SENDING = 230049;
/** It stops some calls (files, say) and not all, so for a part it is no refusal of the login. */
const MISSING_SCOPE: ReadonlySet<number> = new Set([99991672, 230027]);
/** The message that is to be answered was withdrawn, deleted, or is not there. */
const TARGET_GONE: ReadonlySet<number> = new Set([230011, 230110, 231003]);

export function isStaleToken(failure: CallFailure): boolean {
  return failure.kind === 'api' && STALE_TOKEN.has(failure.code);
}

export function isTargetGone(failure: CallFailure): boolean {
  return failure.kind === 'api' && TARGET_GONE.has(failure.code);
}

/** Only the operator can mend it: credentials, a missing scope, a bot that is switched off. */
export function isRefusedLogin(failure: CallFailure): boolean {
  if (failure.kind === 'api' && MISSING_SCOPE.has(failure.code)) return true;
  const result = toSendResult(failure);
  return result.kind === 'refused' && result.reason === 'auth';
}

export function isRateLimit(failure: CallFailure): boolean {
  return failure.kind === 'api' && (failure.status === 429 || TOO_OFTEN.has(failure.code));
}

type Refusal = Extract<SendResult, { kind: 'refused' }>['reason'];

const REFUSALS: Readonly<Record<number, Refusal>> = {
  403: 'auth', // where to connect: the app may not
  514: 'auth', // where to connect: no such app, or another secret
  10003: 'auth', // no such app
  10014: 'auth', // wrong secret
  230006: 'auth', // the bot ability is off
  230099: 'markup', // the card could not be made: too many tables or elements, a tag it does not know
  230025: 'too-long',
  200860: 'too-long',
  10002: 'chat-gone', // the bot is not in the chat
  230002: 'chat-gone', // the bot is not in the group
  230019: 'chat-gone', // no such topic
  230029: 'chat-gone', // the person left the company
  230034: 'chat-gone', // no such receiver
  232009: 'chat-gone', // the group was dissolved
  230013: 'blocked', // the person is outside the bot's availability
  230015: 'blocked',
  230017: 'blocked',
  230018: 'blocked', // only some members may write
  230035: 'blocked',
  230038: 'blocked',
  230053: 'blocked', // the person switched the bot off
};

/** What delivery is told about a call that failed. `detail` is the platform's own sentence. */
export function toSendResult(failure: CallFailure): SendResult {
  if (failure.kind === 'unreached') return { kind: 'retry', reason: failure.detail, scope: 'account' };
  if (failure.kind === 'lost') return { kind: 'unknown', detail: failure.detail };
  const { status, code, description } = failure;
  const detail = `${code || status} ${description}`;
  if (isRateLimit(failure)) {
    const scope = code === CHAT_TOO_OFTEN ? 'chat' : 'account';
    return { kind: 'retry', reason: detail, afterMs: failure.retryAfterMs ?? 1_000, scope };
  }
  if (code === STILL_SENDING) return { kind: 'unknown', detail };
  const known = REFUSALS[code];
  if (known !== undefined) return { kind: 'refused', reason: known, detail };
  if (STALE_TOKEN.has(code)) return { kind: 'refused', reason: 'auth', detail };
  if (TARGET_GONE.has(code)) return { kind: 'refused', reason: 'chat-gone', detail };
  // "ext=invalid message content": the JSON within `content` is not what the message type wants.
  if (code === 230001 && description.includes('content')) return { kind: 'refused', reason: 'markup', detail };
  // 5xx comes from a machine that may have passed the message on already.
  if (status >= 500) return { kind: 'unknown', detail };
  if (status === 401) return { kind: 'refused', reason: 'auth', detail };
  return { kind: 'refused', reason: status === 403 ? 'blocked' : 'invalid', detail };
}
