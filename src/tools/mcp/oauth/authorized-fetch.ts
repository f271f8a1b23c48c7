/** Requests to a server, with its token: no other origin is sent one. */
import { GatehouseError } from '../../../core/errors.ts';
import type { McpFetch } from '../http.ts';
import { type Challenge, challengeOf, loginNeeded, ScopeNeeded } from './challenge.ts';
import type { ServerLogin } from './server-login.ts';

const { signal: never } = new AbortController();

/**
 * A request whose token is refused is made once more with another one: a server that refuses has not acted on
 * it. Rejects with GH2304 where only a login helps, with `ScopeNeeded` where the login does not cover the
 * request.
 */
export function authorizedFetch(
  base: McpFetch,
  about: { readonly server: string; readonly url: string },
  login: ServerLogin,
): McpFetch {
  const { origin } = new URL(about.url);
  return async (url, init) => {
    if (new URL(url).origin !== origin) return await base(url, init);
    const signal = init?.signal ?? never;
    const token = await login.token(signal);
    const [answer, challenge] = await asked(base, url, withToken(init, token));
    if (!challenge) return answer;
    const next = challenge.wants === 'token' ? await login.challenged(token, challenge, signal) : undefined;
    if (next === undefined) throw new ScopeNeeded(about.server, challenge.scopes);
    const [second, again] = await asked(base, url, withToken(init, next));
    if (again?.wants === 'token') throw loginNeeded(about.server, 'it does not take the token that was just renewed');
    if (again) throw new ScopeNeeded(about.server, again.scopes);
    return second;
  };
}

/** For an entry without `oauth`: says what a refusal means. `variable`: holds the token it has, if any. */
export function unauthorizedFetch(base: McpFetch, server: string, variable: string | undefined): McpFetch {
  return async (url, init) => {
    const [answer, challenge] = await asked(base, url, init);
    if (!challenge) return answer;
    if (variable !== undefined)
      throw new GatehouseError('GH2302', `${server} refuses the value of ${variable} (HTTP status ${answer.status})`, {
        hint: `check the value of ${variable}`,
      });
    throw new GatehouseError('GH2304', `${server} wants a login (HTTP status ${answer.status})`, {
      hint: `add "oauth": {} to mcp_servers.${server}, then run \`gatehouse mcp login ${server}\``,
    });
  };
}

async function asked(
  base: McpFetch,
  url: string | URL,
  init: RequestInit | undefined,
): Promise<[Response, Challenge | undefined]> {
  const answer = await base(url, init);
  const challenge = await challengeOf(answer);
  if (challenge) await answer.body?.cancel();
  return [answer, challenge];
}

function withToken(init: RequestInit | undefined, token: string | undefined): RequestInit {
  const headers = new Headers(init?.headers);
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
  return { ...init, headers, redirect: 'manual' };
}
