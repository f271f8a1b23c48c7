import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { failureOf, loginRig } from '../../../testing/mcp-login-rig.ts';
import { logOut } from './log-out.ts';

async function* typed(...lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

test('a login is stored for the user of this machine alone, and its token is sent', async () => {
  await using rig = await loginRig();
  await expect(rig.tools()).rejects.toMatchObject({ code: 'GH2304', hint: 'run `gatehouse mcp login notes`' });
  expect(await rig.login()).toMatchObject({ issuer: rig.peer.origin, scope: 'notes:read', renews: true });
  expect(await rig.tools()).toEqual(['note']);
  const file = join(rig.dir, 'mcp-logins/notes/auth.json');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(rig.dir, 'mcp-logins/notes'))).mode & 0o777).toBe(0o700);
  expect(await readFile(file, 'utf8')).toContain('access-token-');
});

test('a login names the server, the issuer and what is asked for, and asks with PKCE, state and resource', async () => {
  await using rig = await loginRig();
  await rig.login();
  const [{ link = '', ...shown } = {}] = rig.shown;
  expect(shown).toEqual({ server: rig.peer.origin, issuer: rig.peer.origin, scopes: ['notes:read'] });
  const asked = Object.fromEntries(new URL(link).searchParams);
  expect(asked).toMatchObject({
    ...{ response_type: 'code', code_challenge_method: 'S256', scope: 'notes:read', resource: rig.peer.url },
    redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
  });
  expect(asked['state']).toMatch(/^[\w-]{43}$/);
  expect(Object.fromEntries(rig.peer.forms[0] ?? [])).toMatchObject({
    ...{ grant_type: 'authorization_code', resource: rig.peer.url, redirect_uri: asked['redirect_uri'] },
    code_verifier: expect.stringMatching(/^[\w.~-]{43,128}$/),
  });
});

test('a pasted address counts only with the state of the login, and a pasted code alone counts', async () => {
  await using rig = await loginRig();
  const refused: string[] = [];
  const ui = (...lines: readonly string[]) => ({ lines: () => typed(...lines), refuse: (why: string) => void refused.push(why) });
  await rig.login(
    { ui: { ...ui('', 'two words', 'https://x.example/?code=theirs&state=guess', 'a-pasted-code'), show: () => undefined } },
    () => undefined,
  );
  expect(refused).toEqual(['this is neither an address nor a code', 'this is not the answer to this login']);
  expect(rig.peer.forms.map((form) => form.get('code'))).toEqual(['a-pasted-code']);
});

test('where an authorization server says who it is, the whole address has to be pasted', async () => {
  await using rig = await loginRig();
  Object.assign(rig.peer.issuer, { authorization_response_iss_parameter_supported: true });
  const refused: string[] = [];
  const link = Promise.withResolvers<string>();
  async function* lines(): AsyncGenerator<string> {
    yield 'a-code-alone';
    const state = new URL(await link.promise).searchParams.get('state');
    yield `http://127.0.0.1:1/callback?code=a-whole-answer&state=${state}&iss=${encodeURIComponent(rig.peer.origin)}`;
  }
  await rig.login({ ui: { lines, refuse: (why) => void refused.push(why), show: (about) => link.resolve(about.link) } });
  expect(refused).toEqual(['paste the whole address, not the code alone']);
  expect(rig.peer.forms.map((form) => form.get('code'))).toEqual(['a-whole-answer']);
});

test('a login that is refused in the browser says so, and stores nothing', async () => {
  await using rig = await loginRig();
  const login = rig.login({}, async (link) => {
    const asked = new URL(link).searchParams;
    await fetch(`${asked.get('redirect_uri')}?error=access_denied&state=${asked.get('state')}`);
  });
  expect(await failureOf(login)).toMatch(/^GH2201 the login was refused in the browser/);
  await expect(rig.tools()).rejects.toMatchObject({ code: 'GH2304' });
});

test('what the config lists is asked for, and what a command names beside it; a later login keeps both', async () => {
  await using rig = await loginRig({ entry: { oauth: { scopes: ['notes:list'] } } });
  await rig.login();
  await rig.login({ scopes: ['notes:write'] });
  await rig.login();
  const asked = rig.shown.map(({ scopes }) => scopes);
  expect(asked).toEqual([['notes:list'], ['notes:list', 'notes:write'], ['notes:list', 'notes:write']]);
});

test('a call that the login does not cover names the scope that is missing, and the session goes on', async () => {
  await using rig = await loginRig();
  await rig.login();
  rig.peer.routes['/mcp'] = ({ body }) =>
    body.includes('tools/list')
      ? { status: 403, headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="notes:write $(reboot)"' } }
      : undefined;
  expect(await failureOf(rig.tools())).toBe(
    'GH2305 the login at notes does not cover this (it wants notes:write $(reboot)) → run `gatehouse mcp login notes --scope notes:write`',
  );
  expect(rig.peer.requests.filter((request) => request === 'POST /token')).toHaveLength(1);
});

test('an entry whose server wants no such login is refused with what to do', async () => {
  await using rig = await loginRig({ entry: { oauth: undefined, bearer_env: 'TOKEN' } });
  expect(await failureOf(rig.login())).toBe('GH1001 notes has no section "oauth" → add "oauth": {} to mcp_servers.notes');
  expect(await failureOf(rig.tools())).toBe(
    'GH2302 notes refuses the value of TOKEN (HTTP status 401) → check the value of TOKEN',
  );
  await using plain = await loginRig({ entry: { oauth: undefined } });
  expect(await failureOf(plain.tools())).toBe(
    'GH2304 notes wants a login (HTTP status 401) → add "oauth": {} to mcp_servers.notes, then run `gatehouse mcp login notes`',
  );
});

test('logging out forgets every address, and ends the refresh token at its server', async () => {
  await using rig = await loginRig();
  await rig.login();
  const bodies: string[] = [];
  rig.peer.routes['/revoke'] = ({ body }) => {
    bodies.push(body);
    return { status: 200 };
  };
  const host = new URL(rig.peer.origin).host;
  expect(await logOut('notes', rig.entry, rig.about)).toEqual({ forgotten: 1, revoked: [host], kept: [] });
  expect(bodies).toEqual([expect.stringMatching(/^token=refresh-token-\d+&client_id=client-\d+$/)]);
  await expect(rig.tools()).rejects.toMatchObject({ code: 'GH2304' });
  expect(await logOut('notes', rig.entry, rig.about)).toMatchObject({ forgotten: 0 });
});

test('a server that does not end a login cannot keep it here', async () => {
  await using rig = await loginRig();
  await rig.login();
  rig.peer.routes['/revoke'] = () => ({ status: 503 });
  const host = new URL(rig.peer.origin).host;
  expect(await logOut('notes', rig.entry, rig.about)).toEqual({
    ...{ forgotten: 1, revoked: [] },
    kept: [`${host}: it answered with HTTP status 503`],
  });
});

test('a server that asks for no login is not logged in to', async () => {
  await using rig = await loginRig();
  rig.peer.takes = () => true;
  for (const path of ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-authorization-server'])
    rig.peer.routes[path] = () => ({ status: 404 });
  expect(await failureOf(rig.login())).toMatch(/^GH2201 127\.0\.0\.1:\d+ asks for no login → see `gatehouse mcp test notes`$/);
  expect(rig.peer.requests).not.toContain('POST /register');
});
