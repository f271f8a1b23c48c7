/**
 * Why a call failed, and what that means for a send. Codes: the tables below each method at
 * open.feishu.cn/document/server-docs/im-v1.
 */
import type { SendResult } from '../../../src/core/channel.ts';
import { errorText } from '../../../src/core/errors.ts';
import { type ApiFailure, CallError, type CallFailure, type ErrorCode } from '../../kit/call-error.ts';
import { type Refusal, sendResultOf, settleFailedSend } from '../../kit/call-result.ts';
import { NOT_LEFT } from '../../kit/lifecycle.ts';

/**
 * A failed call. What people read shows the platform's own number, where the answer held one (`code` is 0
 * otherwise).
 */
export function callError(call: string, failure: CallFailure): CallError {
  return new CallError(call, failure, failure.kind === 'api' ? wordsOf(failure) : failure.detail);
}

function wordsOf({ code, status, detail }: ApiFailure): string {
  return `${code || status} ${detail}`;
}

/**
 * A tenant token the platform does not take any more (99991663), misses (99991661) or cannot read (99991671,
 * 99991664, 99991665).
 */
const STALE_TOKEN: ReadonlySet<ErrorCode | undefined> = new Set([99991661, 99991663, 99991664, 99991665, 99991671]);
/** Too often in one chat: "create message chat trigger rate limit", and a chat's limit of "send message". */
const CHAT_TOO_OFTEN: ReadonlySet<ErrorCode | undefined> = new Set([11233, 230020]);
/**
 * Too often: the gateway, the tenant's message service (create message, internal send message), too many
 * requests, a method, the app (two numbers), one chat
 * (https://open.feishu.cn/document/ukTMukTMukTM/ugjM14COyUjL4ITN). They come with HTTP 400 as
 * often as with 429.
 */
const TOO_OFTEN: ReadonlySet<ErrorCode | undefined> = new Set([
  ...[99991400, 11232, 11247, 90217, 1_000_004, 1_000_005, 190_005],
  ...CHAT_TOO_OFTEN,
]);
/**
 * The first send of the same uuid has not ended (230049), the request is being processed (18121), the server
 * is busy or failed in itself (the same page): it may have been done, and is asked for again under its uuid.
 */
const MAYBE_DONE: ReadonlySet<ErrorCode | undefined> = new Set([230049, 18121, 90235, 1_500, 5_000, 10_101, 55_001]);
/** It stops some calls (files, say) and not all, so for a part it is no refusal of the login. */
const MISSING_SCOPE: ReadonlySet<ErrorCode | undefined> = new Set([99991672, 230027]);
/** A card is not in streaming mode any more: ten minutes are over, or the platform ended it before. */
const STREAMING_OVER: ReadonlySet<ErrorCode | undefined> = new Set([300309, 200850]);
/** The number of a call on a card was not above that of the call before it. */
const OUT_OF_ORDER = 300317;
/** A person presses a button of the card. */
const CARD_IN_USE = 200810;
/** The message that is to be answered was withdrawn, deleted, or is not there. */
const TARGET_GONE: ReadonlySet<ErrorCode | undefined> = new Set([230011, 230110, 231003]);

export function isStaleToken(failure: CallFailure): boolean {
  return failure.kind === 'api' && STALE_TOKEN.has(failure.code);
}

/** The app was not given a scope, or its version with it is not released. */
export function isMissingScope(failure: CallFailure): boolean {
  return failure.kind === 'api' && MISSING_SCOPE.has(failure.code);
}

export function isStreamingOver(failure: CallFailure): boolean {
  return failure.kind === 'api' && STREAMING_OVER.has(failure.code);
}

export function isOutOfOrder(failure: CallFailure): boolean {
  return failure.kind === 'api' && failure.code === OUT_OF_ORDER;
}

export function isTargetGone(failure: CallFailure): boolean {
  return failure.kind === 'api' && TARGET_GONE.has(failure.code);
}

/** Only the operator can mend it: credentials, a missing scope, a bot that is switched off. */
export function isRefusedLogin(failure: CallFailure): boolean {
  if (isMissingScope(failure)) return true;
  const result = toSendResult(failure);
  return result.kind === 'refused' && result.reason === 'auth';
}

/** The server is busy, or a person uses the card: the same call is made again. */
export function isPassing(failure: CallFailure): boolean {
  return failure.kind === 'api' && (MAYBE_DONE.has(failure.code) || failure.code === CARD_IN_USE);
}

export function isRateLimit(failure: CallFailure): boolean {
  return failure.kind === 'api' && (failure.status === 429 || TOO_OFTEN.has(failure.code));
}

const REFUSALS: Readonly<Record<ErrorCode, Refusal>> = {
  403: 'auth', // where to connect: the app may not
  514: 'auth', // where to connect: no such app, or another secret
  10003: 'auth', // no such app
  10014: 'auth', // wrong secret
  230006: 'auth', // the bot ability is off
  230099: 'markup', // the card could not be made: too many tables or elements, a tag it does not know
  200220: 'markup', // the same of a card entity
  300301: 'markup',
  300307: 'markup',
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
  return sendResultOf(failure, (api) => {
    const { status = 200, code = 0 } = api;
    const detail = wordsOf(api);
    if (isRateLimit(api)) {
      const scope = CHAT_TOO_OFTEN.has(code) ? 'chat' : 'account';
      return { kind: 'retry', reason: detail, afterMs: api.retryAfterMs ?? 1_000, scope };
    }
    if (code === CARD_IN_USE) return { kind: 'retry', reason: detail, afterMs: 1_000, scope: 'part' };
    if (MAYBE_DONE.has(code)) return { kind: 'unknown', detail };
    const reason = REFUSALS[code] ?? (STALE_TOKEN.has(code) ? 'auth' : TARGET_GONE.has(code) ? 'chat-gone' : undefined);
    if (reason) return { kind: 'refused', reason, detail };
    // "ext=invalid message content": the JSON within `content` is not what the message type wants.
    if (code === 230001 && api.detail.includes('content')) return { kind: 'refused', reason: 'markup', detail };
    // 5xx comes from a machine that may have passed the message on already.
    if (status >= 500) return { kind: 'unknown', detail };
    return { kind: 'refused', reason: status === 401 ? 'auth' : status === 403 ? 'blocked' : 'invalid', detail };
  });
}

/** Of a step before the message itself: whatever went wrong, nothing was sent that a person sees. */
export function notSeen(error: unknown, what: string, signal: AbortSignal): SendResult {
  if (signal.aborted) return NOT_LEFT;
  const result = settleFailedSend(error, toSendResult);
  return result.kind === 'unknown' ? { kind: 'retry', reason: `${what}: ${errorText(error)}`, scope: 'part' } : result;
}
