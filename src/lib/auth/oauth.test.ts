import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { FakeClock } from '../../testing/fakes.ts';
import { CLIENT_ID, FormBrowser, type OidcServerOptions, startOidcServer } from '../../testing/oidc-server.ts';
import { systemClock } from '../clock.ts';
import { type BrowserLoginOptions, type DeviceCode, loginWithBrowser, loginWithDeviceCode, renewTokens } from './oauth.ts';

const never = new AbortController().signal;
const base = { clientId: CLIENT_ID, clock: systemClock, signal: never };

/** A login under way: its address, and its outcome, which may come first. */
async function begin(issuer: string, options: Partial<BrowserLoginOptions> = {}) {
  const shown = Promise.withResolvers<string>();
  const login = loginWithBrowser({ ...base, issuer, port: 0, show: shown.resolve, ...options });
  const outcome = login.then(
    (tokens) => ({ tokens, error: undefined }),
    (error: unknown) => ({ tokens: undefined, error: error as Error & { code?: string } }),
  );
  const address = await Promise.race([shown.promise, outcome.then(() => '')]);
  return { address, outcome };
}

/** The device login with time that runs as fast as the answers come. */
async function beginDevice(options: OidcServerOptions = {}, signal = never) {
  const server = await startOidcServer(options);
  const clock = new FakeClock();
  const shown = Promise.withResolvers<DeviceCode>();
  const login = loginWithDeviceCode({ issuer: server.issuer, clientId: CLIENT_ID, clock, signal, show: shown.resolve });
  let over = false;
  const outcome = login
    .then(
      (tokens) => ({ tokens, error: undefined }),
      (error: unknown) => ({ tokens: undefined, error: error as Error & { code?: string } }),
    )
    .finally(() => {
      over = true;
    });
  const code = await Promise.race([shown.promise, outcome.then(() => undefined)]);
  const finish = async () => {
    for (; !over; await new Promise((resolve) => setTimeout(resolve, 2))) await clock.advance(1_000);
    return await outcome;
  };
  return { server, clock, code, outcome, finish, polls: () => server.requests.filter((line) => line === 'POST /token').length };
}

/** Whether the server that waits for the browser is gone. */
async function refusesConnections(address: string): Promise<boolean> {
  const redirect = new URL(address).searchParams.get('redirect_uri') ?? '';
  return await fetch(redirect).then(
    () => false,
    () => true,
  );
}

test('a login through the browser gives tokens, uses PKCE with S256, and leaves nothing listening', async () => {
  await using server = await startOidcServer();
  const before = Date.now();
  const { address, outcome } = await begin(server.issuer);
  const asked = new URL(address).searchParams;
  expect(asked.get('code_challenge_method')).toBe('S256');
  expect(asked.get('redirect_uri')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/auth\/callback$/);
  const page = await new FormBrowser().logIn(address);
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining('You are logged in') });
  const { tokens } = await outcome;
  expect(tokens).toEqual({
    accessToken: server.tokens[0]?.['access_token'],
    refreshToken: server.tokens[0]?.['refresh_token'],
    expiresAt: expect.closeTo(before + 3_600_000, -5),
  });
  expect(await refusesConnections(address)).toBe(true);
});

test('a refused consent ends the login with GH2201, and the page says that it failed', async () => {
  await using server = await startOidcServer();
  const { address, outcome } = await begin(server.issuer);
  const page = await new FormBrowser().logIn(address, 'refuse');
  expect(page).toMatchObject({ status: 400, text: expect.stringContaining('The login failed') });
  expect((await outcome).error).toMatchObject({ code: 'GH2201', message: 'the login was refused at the issuer' });
  expect(server.requests).not.toContain('POST /token');
});

test('an answer with a wrong state is turned away, and the right one still gets in', async () => {
  await using server = await startOidcServer();
  const { address, outcome } = await begin(server.issuer);
  const redirect = new URL(address).searchParams.get('redirect_uri') ?? '';
  for (const query of ['?code=stolen&state=wrong', '?code=stolen', '?error=access_denied&state=']) {
    expect((await fetch(`${redirect}${query}`)).status).toBe(400);
  }
  expect(server.requests).not.toContain('POST /token');
  await new FormBrowser().logIn(address);
  expect((await outcome).tokens?.accessToken).toBe(server.tokens[0]?.['access_token']);
});

test('a code that was not issued to this login is refused without its value in the error', async () => {
  await using server = await startOidcServer();
  const { address, outcome } = await begin(server.issuer);
  const asked = new URL(address).searchParams;
  const answer = new URL(asked.get('redirect_uri') ?? '');
  answer.search = String(new URLSearchParams({ code: 'CANARY-code', state: asked.get('state') ?? '', iss: server.issuer }));
  expect((await fetch(answer)).status).toBe(400);
  const { error } = await outcome;
  expect(error).toMatchObject({ code: 'GH2201', message: expect.stringContaining('invalid_grant') });
  expect(error?.cause).toBeUndefined();
});

test('a login that is not finished ends after five minutes and closes its port', async () => {
  await using server = await startOidcServer();
  const clock = new FakeClock();
  const { address, outcome } = await begin(server.issuer, { clock });
  await clock.advance(299_000);
  expect(await refusesConnections(address)).toBe(false);
  await clock.advance(1_000);
  expect((await outcome).error).toMatchObject({ code: 'GH2201', message: 'the login was not finished within the time' });
  expect(await refusesConnections(address)).toBe(true);
});

test('an abort ends the login with its own reason and closes its port', async () => {
  await using server = await startOidcServer();
  const controller = new AbortController();
  const { address, outcome } = await begin(server.issuer, { signal: controller.signal });
  const reason = new Error('enough');
  controller.abort(reason);
  expect((await outcome).error).toBe(reason);
  expect(await refusesConnections(address)).toBe(true);
});

test('a login that does not ask who the person is gets tokens without an ID token, and sends its own parameters', async () => {
  await using server = await startOidcServer();
  const scopes = ['offline_access'];
  const { address, outcome } = await begin(server.issuer, { scopes, parameters: { prompt: 'consent', login_hint: 'ada' } });
  const { searchParams } = new URL(address);
  expect([searchParams.get('scope'), searchParams.get('nonce'), searchParams.get('login_hint')]).toEqual([
    'offline_access',
    null,
    'ada',
  ]);
  await new FormBrowser().logIn(address);
  await outcome;
  expect(Object.keys(server.tokens[0] ?? {})).not.toContain('id_token');
});

test('a port in use is named, with what to do', async () => {
  await using server = await startOidcServer();
  const port = Number(new URL(server.issuer).port);
  const { outcome } = await begin(server.issuer, { port });
  const { error } = await outcome;
  expect(error).toMatchObject({ code: 'GH2201', message: expect.stringContaining(`port ${port} `) });
  expect(error).toMatchObject({ hint: expect.stringContaining('choose another port') });
});

test.each([
  ['http://auth.example.com', 'http://auth.example.com is not an encrypted address'],
  ['http://127.0.0.1.example.com', 'is not an encrypted address'],
  ['ftp://127.0.0.1', 'is not an encrypted address'],
  ['auth.example.com', 'the issuer is not a plain URL'],
  ['https://user:CANARY@auth.example.com', 'the issuer is not a plain URL'],
])('the issuer %s is refused before any request', async (issuer, message) => {
  const { error } = await (await begin(issuer)).outcome;
  expect(error).toMatchObject({ code: 'GH2201', message: expect.stringContaining(message) });
  expect(error?.message).not.toContain('CANARY');
});

test.each(['authorization_endpoint', 'token_endpoint'])(
  'an issuer on this machine cannot send codes elsewhere unencrypted: %s',
  async (endpoint) => {
    await using fake = await metadataServer((issuer) => ({
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      [endpoint]: 'http://evil.example.com/x',
    }));
    const { address, outcome } = await begin(fake.issuer);
    if (endpoint === 'token_endpoint') {
      const asked = new URL(address).searchParams;
      await fetch(`${asked.get('redirect_uri')}?code=c&state=${asked.get('state')}`);
    }
    expect((await outcome).error?.message).toBe('http://evil.example.com is not an encrypted address');
  },
);

test.each([
  ['another issuer', { issuer: 'https://other.example.com' }],
  ['more than a megabyte', { padding: 'x'.repeat(1_100_000) }],
])('a discovery document with %s is refused', async (_what, content) => {
  await using fake = await metadataServer((issuer) => ({ issuer, ...content }));
  expect((await (await begin(fake.issuer)).outcome).error).toMatchObject({ code: 'GH2201' });
});

test('an issuer that is not there is a clear error', async () => {
  const gone = await startOidcServer();
  await gone[Symbol.asyncDispose]();
  const { error } = await (await begin(gone.issuer)).outcome;
  expect(error).toMatchObject({ code: 'GH2201', message: expect.stringContaining('ECONNREFUSED') });
});

test('a code entered on another device logs in, with five seconds or more between the questions', async () => {
  const { server, code, clock, finish, polls } = await beginDevice();
  await using _server = server;
  expect(code).toMatchObject({ userCode: expect.stringMatching(/^[A-Z]{4}-[A-Z]{4}$/), url: `${server.issuer}/device` });
  await clock.advance(4_900);
  expect(polls()).toBe(0);
  await clock.advance(200);
  await expect.poll(polls).toBe(1);
  await new FormBrowser().logIn(code?.completeUrl ?? '');
  const { tokens } = await finish();
  expect(tokens?.accessToken).toBe(server.tokens.at(-1)?.['access_token']);
  expect(tokens?.refreshToken).toEqual(expect.any(String));
});

test('a code refused on the other device ends the login', async () => {
  const { server, code, finish } = await beginDevice();
  await using _server = server;
  await new FormBrowser().logIn(code?.completeUrl ?? '', 'refuse');
  expect((await finish()).error).toMatchObject({ code: 'GH2201', message: 'the login was refused at the issuer' });
});

test('a code nobody enters is given up when it expires, by our clock or by the word of the issuer', async () => {
  const own = await beginDevice({ deviceCodeSeconds: 12 });
  await using _own = own.server;
  const expired = { code: 'GH2201', message: 'the code expired before it was entered' };
  expect((await own.finish()).error).toMatchObject(expired);
  expect(own.polls()).toBe(2);

  const theirs = await beginDevice();
  await using _theirs = theirs.server;
  theirs.server.interfere = { status: 400, body: '{"error":"expired_token"}' };
  expect((await theirs.finish()).error).toMatchObject(expired);
  expect(theirs.polls()).toBe(1);
});

test('slow_down adds five seconds to every further wait', async () => {
  const { server, clock, polls, finish, code } = await beginDevice();
  await using _server = server;
  server.interfere = { status: 400, body: '{"error":"slow_down"}' };
  await clock.advance(5_000);
  await expect.poll(polls).toBe(1);
  server.interfere = undefined;
  await settled();
  await clock.advance(9_000);
  await settled();
  expect(polls()).toBe(1);
  await clock.advance(1_000);
  await expect.poll(polls).toBe(2);
  await new FormBrowser().logIn(code?.completeUrl ?? '');
  expect((await finish()).tokens).toBeDefined();
});

test('an issuer that fails for a while is asked again, more and more seldom', async () => {
  const { server, finish, polls, code } = await beginDevice();
  await using _server = server;
  await new FormBrowser().logIn(code?.completeUrl ?? '');
  server.interfere = { status: 503, body: 'down' };
  const done = finish();
  await expect.poll(polls).toBe(3);
  server.interfere = undefined;
  expect((await done).tokens).toBeDefined();
});

test('an abort ends the wait for the code with its own reason', async () => {
  const controller = new AbortController();
  const { server, outcome } = await beginDevice({}, controller.signal);
  await using _server = server;
  const reason = new Error('enough');
  controller.abort(reason);
  expect((await outcome).error).toBe(reason);
});

test('a refresh token is used up by one renewal, and the issuer ends the login when it comes again', async () => {
  await using server = await startOidcServer();
  const { address, outcome } = await begin(server.issuer);
  await new FormBrowser().logIn(address);
  const first = (await outcome).tokens?.refreshToken ?? '';
  const renewal = await renewTokens({ ...base, issuer: server.issuer, refreshToken: first });
  const rotated = (renewal.ok && renewal.tokens.refreshToken) || '';
  expect(rotated).not.toBe('');
  expect(rotated).not.toBe(first);
  const again = await renewTokens({ ...base, issuer: server.issuer, refreshToken: first });
  expect(again).toMatchObject({ ok: false, final: true, reason: expect.stringContaining('invalid_grant') });
  expect(await renewTokens({ ...base, issuer: server.issuer, refreshToken: rotated })).toMatchObject({ ok: false, final: true });
});

test.each([
  ['down', 503, 'down', false],
  ['answering with nonsense', 200, 'CANARY-refresh', false],
  ['limiting', 429, '{"error":"slow_down"}', false],
  ['quoting the token', 400, '{"error":"invalid_grant","error_description":"CANARY-refresh is unknown"}', true],
])('a renewal at an issuer that is %s is a value without a token in it', async (_what, status, body, final) => {
  await using server = await startOidcServer();
  server.interfere = { status, body };
  const renewal = await renewTokens({ ...base, issuer: server.issuer, refreshToken: 'CANARY-refresh' });
  expect(renewal).toMatchObject({ ok: false, final });
  expect(JSON.stringify(renewal)).not.toContain('CANARY');
});

test('an aborted renewal rejects with the reason', async () => {
  await using server = await startOidcServer();
  const reason = new Error('enough');
  const signal = AbortSignal.abort(reason);
  await expect(renewTokens({ ...base, signal, issuer: server.issuer, refreshToken: 'x' })).rejects.toBe(reason);
});

async function settled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 50));
}

/** An issuer that only describes itself. */
async function metadataServer(
  describe: (issuer: string) => Record<string, unknown>,
): Promise<{ issuer: string } & AsyncDisposable> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(describe(issuer)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
