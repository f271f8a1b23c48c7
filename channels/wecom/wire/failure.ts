/** What a failed call means: whether it left, what delivery is told, what the operator is told. */
import type { SendResult } from '../../../src/core/channel.ts';
import { errorText } from '../../../src/core/errors.ts';
import { apiFailureOf, CallError, type CallFailure, type ErrorCode, networkFailure } from '../../kit/call-error.ts';
import { type Refusal, sendResultOf } from '../../kit/call-result.ts';
import { type Diagnosis, degraded, diagnose, down, wordsWithHint } from '../../kit/diagnosis.ts';
import { errorCodeOf } from '../../kit/http-agent.ts';

/** "System busy": no answer to whether the platform took the message. */
const BUSY = -1;

/** Met while connecting: nothing was sent. TLS errors come before the request, too. */
const BEFORE_THE_REQUEST =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|CERT_\w+|UNABLE_TO_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|ERR_TLS_CERT_ALTNAME_INVALID|ERR_SSL_\w+)$/;

/** What `fetch` rejected with. */
export function toFailure(error: unknown): CallFailure {
  return networkFailure(error, !BEFORE_THE_REQUEST.test(errorCodeOf(error) ?? ''));
}

/** The platform said no, or never heard of it. */
export function isProvenUnsent(error: unknown): boolean {
  const answer = apiFailureOf(error);
  return answer ? answer.code !== BUSY : error instanceof CallError && error.failure.kind === 'unreached';
}

/** What delivery is told about a call that failed. */
export function toSendResult({ call, failure, message: detail }: CallError): SendResult {
  const isLost = failure.kind === 'lost' || failure.kind === 'http' || (failure.kind === 'api' && failure.code === BUSY);
  // Without the token or the file there was no message to send.
  if (isLost && call !== 'message/send') return { kind: 'retry', reason: detail, scope: 'account' };
  if (isLost) return { kind: 'unknown', detail };
  return sendResultOf({ ...failure, detail }, ({ code = 0 }) => {
    const wait = WAITS[code];
    return wait === undefined ? REFUSALS[code] : { kind: 'retry', reason: detail, afterMs: wait, scope: 'account' };
  });
}

/**
 * What the platform says to a card that is wrong, where that differs from other messages; else undefined.
 * `acceptedId` names a card that it took before.
 */
export function toCardResult(error: unknown, acceptedId: string): SendResult | undefined {
  const { code, detail = '' } = apiFailureOf(error) ?? {};
  if (code === undefined) return undefined;
  // Our ids have the right form, so one that is refused is taken: by this card, whose answer was lost.
  if (code === TASK_ID || (code === PARAMETER && /task_?id/i.test(detail))) {
    return { kind: 'sent', platformId: acceptedId };
  }
  const reason = REFUSALS[code] ?? 'invalid';
  const again = code === BUSY || WAITS[code] !== undefined;
  // The same question goes as text, which lists the answers.
  return !again && (reason === 'invalid' || reason === 'too-long')
    ? { kind: 'refused', reason: 'markup', detail: errorText(error) }
    : undefined;
}

/** The id of a card's task is not good, and a parameter is not good (document/path/90313). */
const TASK_ID = 42_014;
const PARAMETER = 40_058;

/**
 * "Blocked for 60 s" when a limit per minute was passed (document/path/90312); a token refused twice is a
 * matter of moments.
 */
const WAITS: Readonly<Record<ErrorCode, number>> = {
  45009: 60_000,
  45011: 60_000,
  45033: 2_000,
  6000: 2_000,
  40014: 5_000,
  42001: 5_000,
  41001: 5_000,
};

/** https://developer.work.weixin.qq.com/document/path/90313; `auth` is what the operator has to mend. */
const REFUSALS: Readonly<Record<ErrorCode, Refusal>> = {
  40001: 'auth', // secret
  40013: 'auth', // company
  40056: 'auth', // application
  40091: 'auth', // secret
  48002: 'auth', // the application may not use this call
  48004: 'auth', // ... was forbidden to
  50003: 'auth', // the application is switched off
  60020: 'auth', // from this address
  301002: 'auth', // with another application's token
  301007: 'auth', // the company was dissolved
  301010: 'auth', // ... needs to be verified
  40003: 'chat-gone',
  40031: 'chat-gone',
  40070: 'chat-gone',
  46004: 'chat-gone',
  60111: 'chat-gone',
  81013: 'chat-gone', // no person addressed is there, or may be written to
  82001: 'chat-gone',
  43004: 'blocked',
  50002: 'blocked',
  60011: 'blocked',
  45002: 'too-long',
  45003: 'too-long',
};

/** Whether the operator has to mend something: then the channel is down for all chats. */
export function isAuthFailure(error: unknown): boolean {
  return REFUSALS[apiFailureOf(error)?.code ?? 0] === 'auth';
}

/** What to do about each. */
const ADVICE: Readonly<Record<ErrorCode, string>> = {
  40001: 'copy the Secret of the application again',
  40013: 'check the id of the company',
  60020: 'add the address of this machine to "Trusted IPs" of the application in the admin console',
  48002: 'the Secret belongs to something that may not send messages: use the one of a self-built application',
  50003: 'switch the application on in the admin console',
  301002: 'agent_id and the Secret belong to different applications',
};

/** `down` where the operator has to mend something, `degraded` where time may. */
export function judge(error: unknown): Diagnosis {
  return diagnose(error, {
    ofCall: ({ message }) => {
      if (!isAuthFailure(error)) return degraded(`GH1502: ${message}`);
      const advice = ADVICE[apiFailureOf(error)?.code ?? 0] ?? 'check the application in the admin console';
      return down(`GH1501: ${message}; ${advice}`);
    },
    ofOther: (other) => down(wordsWithHint(other)),
  });
}
