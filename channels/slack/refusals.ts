/** Words of `ok: false` that mean the same whatever was asked: https://docs.slack.dev/reference/methods, common errors. */

/** The token is worth nothing: nobody can call anything with it. */
export const LOGIN_REFUSED: ReadonlySet<string> = new Set(
  'invalid_auth not_authed account_inactive token_revoked token_expired'.split(' '),
);

/** The token is good, but not for this. */
export const NOT_GRANTED: ReadonlySet<string> = new Set(['missing_scope', 'not_allowed_token_type']);

/** Over by itself, and nothing was done: the organisation is being moved, requests are too many. */
export const LATER: ReadonlySet<string> = new Set(
  'ratelimited rate_limited message_limit_exceeded org_login_required'.split(' '),
);

/** The platform failed halfway: its documentation says that some of the work may have been done. */
export const MAYBE_DONE: ReadonlySet<string> = new Set(
  'fatal_error internal_error service_unavailable request_timeout team_added_to_org'.split(' '),
);
