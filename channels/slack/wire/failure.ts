/**
 * Words of `ok: false` that mean the same whatever was asked: https://docs.slack.dev/reference/methods,
 * common errors.
 */
import { isGatehouseError } from '../../../src/core/errors.ts';
import type { ApiFailure, ErrorCode } from '../../kit/call-error.ts';
import { type Diagnosis, degraded, diagnose, down, wordsWithHint } from '../../kit/diagnosis.ts';

/** `ok: false` with this word, and the scope that the call needs where the platform names one. */
export function refusal(word: string, needed?: string): ApiFailure {
  if (needed === undefined) return { kind: 'api', code: word, detail: word };
  return { kind: 'api', code: word, detail: `${word}, needed: ${needed}`, data: { needed } };
}

/** The token is worth nothing: no call is accepted with it. */
export const LOGIN_REFUSED: ReadonlySet<ErrorCode | undefined> = new Set(
  'invalid_auth not_authed account_inactive token_revoked token_expired'.split(' '),
);

/** The token is good, but not for this. */
const NOT_GRANTED: ReadonlySet<ErrorCode | undefined> = new Set(['missing_scope', 'not_allowed_token_type']);

/** The app may not do it at all, here or anywhere: asking again would not change it. */
export const NOT_ALLOWED: ReadonlySet<ErrorCode | undefined> = new Set([...NOT_GRANTED, 'unknown_method', 'no_permission']);

/** Over by itself, and nothing was done: the organisation is being moved, requests are too many. */
export const LATER: ReadonlySet<ErrorCode | undefined> = new Set(
  'ratelimited rate_limited message_limit_exceeded org_login_required'.split(' '),
);

/** The platform failed halfway: its documentation says that some of the work may have been done. */
export const MAYBE_DONE: ReadonlySet<ErrorCode | undefined> = new Set(
  'fatal_error internal_error service_unavailable request_timeout team_added_to_org'.split(' '),
);

/** What the operator is told of a connection that failed. */
export function judge(error: unknown): Diagnosis {
  return diagnose(error, {
    ofCall: ({ call, failure, message }) => {
      if (failure.kind === 'unreached') return undefined;
      if (failure.kind === 'limited') return degraded(`GH1502: ${message}`, failure.retryAfterMs);
      const word = failure.kind === 'api' ? failure.code : undefined;
      if (!LOGIN_REFUSED.has(word) && !NOT_GRANTED.has(word)) return degraded(`GH1502: ${message}`);
      const app = call === 'apps.connections.open';
      const which = app ? 'app-level token (does it have connections:write, and is Socket Mode on?)' : 'bot token';
      return { ...down(refusedLogin(which, String(word))), refusedLogin: true };
    },
    // Nothing can arrive while requests cannot be served.
    ofOther: (other) => (isGatehouseError(other) ? down : degraded)(wordsWithHint(other)),
  });
}

export function refusedLogin(which: string, word: string): string {
  return `GH1501: the platform refused the ${which}: ${word}`;
}
