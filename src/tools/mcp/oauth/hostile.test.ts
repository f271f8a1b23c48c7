// What servers and pages can do to a login: each case ends in an error of ours, and nothing secret leaves.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { FakeClock, until } from '../../../testing/fakes.ts';
import { failureOf, type LoginRig, loginRig, PUBLIC } from '../../../testing/mcp-login-rig.ts';
import { followLink } from '../../../testing/mcp-peer.ts';

type Set = (rig: LoginRig) => void;
/** What is said, and what the server does. */
type Case = readonly [title: string, said: RegExp, set: Set];

const BIG = 'x'.repeat(1024 * 1024);
const METADATA = '/.well-known/oauth-authorization-server';
const RESOURCE = '/.well-known/oauth-protected-resource/mcp';
const json = (value: unknown) => () => ({ body: value });

/** Nothing may be shown to the person, and no code be asked for. */
const BEFORE: readonly Case[] = [
  [
    'an authorization server that is not encrypted',
    /^GH2201 http:\/\/auth\.example\.org\/\S+ is not an encrypted address/,
    ({ peer }) => Object.assign(peer.resource, { authorization_servers: ['http://auth.example.org'] }),
  ],
  [
    'the metadata address of a cloud, without encryption',
    /^GH2201 http:\/\/169\.254\.169\.254\/\S+ is not an encrypted address/,
    ({ peer }) => Object.assign(peer.resource, { authorization_servers: ['http://169.254.169.254/latest'] }),
  ],
  [
    'a page for the person that is not encrypted',
    /not an encrypted address/,
    ({ peer }) => Object.assign(peer.issuer, { authorization_endpoint: 'http://auth.example.org/authorize' }),
  ],
  [
    'a page for the person that is a script',
    /the metadata of .* is not as it should be \(authorization_endpoint\)/,
    ({ peer }) => Object.assign(peer.issuer, { authorization_endpoint: 'javascript:alert(1)//' }),
  ],
  [
    'tokens over what is not encrypted',
    /http:\/\/auth\.example\.org\/token is not an encrypted address/,
    ({ peer }) => Object.assign(peer.issuer, { token_endpoint: 'http://auth.example.org/token' }),
  ],
  [
    'metadata of a megabyte',
    /answered with more than 262144 bytes/,
    ({ peer }) => Object.assign(peer.routes, { [METADATA]: json({ issuer: BIG }) }),
  ],
  [
    'metadata of its own of a megabyte',
    /answered with more than 262144 bytes/,
    ({ peer }) => Object.assign(peer.routes, { [RESOURCE]: json({ resource: BIG }) }),
  ],
  [
    'metadata that has the wrong shape',
    /is not as it should be \(response_types_supported\)/,
    ({ peer }) => Object.assign(peer.issuer, { response_types_supported: 'code' }),
  ],
  [
    'metadata that always leads on',
    /^GH2201 http:\/\/127\.0\.0\.1:\d+ says nothing of itself/,
    ({ peer }) =>
      Object.assign(peer.routes, {
        [METADATA]: () => ({ status: 302, headers: { location: METADATA } }),
        '/.well-known/openid-configuration': () => ({ status: 307, headers: { location: `${METADATA}?again` } }),
      }),
  ],
  [
    'the metadata of another authorization server (mix-up)',
    /says that it is https:\/\/auth\.example\.org/,
    ({ peer }) => Object.assign(peer.issuer, { issuer: 'https://auth.example.org' }),
  ],
  [
    'the resource of another server',
    /says that it is https:\/\/mail\.example\.org\/mcp/,
    ({ peer }) => Object.assign(peer.resource, { resource: 'https://mail.example.org/mcp' }),
  ],
  [
    'codes without PKCE',
    /does not protect codes/,
    ({ peer }) => Object.assign(peer.issuer, { code_challenge_methods_supported: ['plain'] }),
  ],
  [
    'no word about PKCE',
    /does not protect codes/,
    ({ peer }) => Object.assign(peer.issuer, { code_challenge_methods_supported: undefined }),
  ],
  [
    'metadata that is somewhere else, as a script',
    /is not an encrypted address/,
    ({ peer }) => Object.assign(peer, { challenge: 'Bearer resource_metadata="javascript:fetch(1)"' }),
  ],
  [
    'a refusal of the registration that drives the terminal',
    /refused: invalid_client_metadata: \\u001b\[2Jgone/,
    ({ peer }) =>
      Object.assign(peer.routes, {
        '/register': () => ({ status: 400, body: { error: 'invalid_client_metadata', error_description: '\u001b[2Jgone' } }),
      }),
  ],
  [
    'a secret that is a word, which would be taken out of every text',
    /with what is no secret/,
    ({ peer }) =>
      Object.assign(peer.routes, {
        '/register': () => ({ status: 201, body: { client_id: 'c', client_secret: 'that', redirect_uris: [] } }),
      }),
  ],
  [
    'a registration that is a page',
    /what cannot be understood/,
    ({ peer }) => Object.assign(peer.routes, { '/register': () => ({ status: 201, body: '<html>' }) }),
  ],
];

describe('before a person is asked for anything, a login fails where the server', () => {
  test.each(BEFORE)('names %s', async (_title, said, set) => {
    await using rig = await loginRig();
    set(rig);
    expect(await failureOf(rig.login())).toMatch(said);
    expect(rig.shown).toEqual([]);
    expect(rig.peer.forms).toEqual([]);
    expect(rig.peer.requests.length).toBeLessThan(12);
  });
});

const PRIVATE = [
  'https://169.254.169.254',
  'https://127.0.0.1:1',
  'https://localhost:1',
  'https://[::ffff:10.0.0.1]',
  'https://10.1.2.3',
];

test.each(PRIVATE)('A server on the internet cannot send a login to %s', async (address) => {
  await using rig = await loginRig({ isPublic: true });
  Object.assign(rig.peer.resource, { authorization_servers: [address] });
  expect(await failureOf(rig.login())).toMatch(/is an address in a private network or of this machine/);
  Object.assign(rig.peer.resource, { authorization_servers: [PUBLIC] });
  Object.assign(rig.peer.issuer, { token_endpoint: `${address}/token` });
  expect(await failureOf(rig.login())).toMatch(/is an address in a private network or of this machine/);
  expect(rig.shown).toHaveLength(1);
  rig.peer.challenge = `Bearer resource_metadata="${address}/latest/meta-data"`;
  expect(await failureOf(rig.login())).toMatch(/is an address in a private network or of this machine/);
});

/** What the token endpoint answers with. */
const TOKENS: readonly (readonly [title: string, said: RegExp, answer: object])[] = [
  ['a page', /what cannot be understood/, { body: '<html>you are logged in</html>' }],
  ['ten megabytes', /more than 262144 bytes/, { body: 'x'.repeat(10 * 1024 * 1024) }],
  ['a header within the token', /what is no token/, { body: { access_token: 'token-one\r\nx-admin: 1', token_type: 'Bearer' } }],
  ['a token that is a word', /what is no token/, { body: { access_token: 'the', token_type: 'Bearer' } }],
  ['a token of another kind', /of a kind that MCP has not/, { body: { access_token: 'token-one-two', token_type: 'mac' } }],
  ['no token', /what cannot be understood/, { body: { token_type: 'Bearer' } }],
  ['a redirect', /what cannot be understood/, { status: 307, headers: { location: 'https://evil.example/token' } }],
];

test.each(TOKENS)('nothing is stored where %s comes in place of a token', async (_title, said, answer) => {
  await using rig = await loginRig();
  rig.peer.routes['/token'] = () => answer;
  expect(await failureOf(rig.login())).toMatch(said);
  await expect(rig.tools()).rejects.toMatchObject({ code: 'GH2304' });
});

test('a refusal that repeats the code shows no code', async () => {
  await using rig = await loginRig();
  rig.peer.routes['/token'] = ({ body }) => ({
    status: 400,
    body: { error: 'invalid_grant', error_description: `bad code ${new URLSearchParams(body).get('code')}` },
  });
  expect(await failureOf(rig.login())).toMatch(/refused: invalid_grant: bad code \[secret\]/);
});

test('an authorization server that never answers ends the login after fifteen seconds', async () => {
  const clock = new FakeClock();
  await using rig = await loginRig({ clock });
  rig.peer.routes['/token'] = () => 'never';
  const login = failureOf(rig.login());
  await until('the code is sent', () => rig.peer.requests.includes('POST /token'));
  await clock.advance(15_000);
  expect(await login).toMatch(/did not answer within 15 s/);
});

test('a person who does not come ends the login after five minutes', async () => {
  const clock = new FakeClock();
  await using rig = await loginRig({ clock });
  const login = failureOf(rig.login({}, () => undefined));
  await until('the link is shown', () => rig.shown.length === 1);
  await clock.advance(5 * 60_000);
  expect(await login).toMatch(/was not finished within the time/);
});

test('a page that calls the listener without the state of the login neither ends nor takes it', async () => {
  await using rig = await loginRig();
  const statuses: number[] = [];
  const login = rig.login({}, async (link) => {
    const back = new URL(link).searchParams.get('redirect_uri') ?? '';
    for (const query of ['?code=injected-code', '?code=injected-code&state=guess', '?error=access_denied', '?state='])
      statuses.push((await fetch(`${back}${query}`)).status);
    statuses.push((await fetch(new URL('/other', back))).status);
    await followLink(link);
  });
  expect(await login).toMatchObject({ renews: true });
  expect(statuses).toEqual([400, 400, 400, 400, 404]);
  expect(rig.peer.forms.map((form) => form.get('code'))).toEqual([expect.stringMatching(/^code-of-a-person-/)]);
});

test('an answer counts once', async () => {
  await using rig = await loginRig();
  const answers: Promise<Response>[] = [];
  await rig.login({}, async (link) => {
    const { location } = Object.fromEntries((await fetch(link, { redirect: 'manual' })).headers);
    answers.push(fetch(location ?? ''), fetch(location ?? ''));
  });
  expect((await Promise.all(answers)).map(({ status }) => status).toSorted()).toEqual([200, 410]);
  expect(rig.peer.forms).toHaveLength(1);
});

test.each(['https://auth.example.org', ''])(
  'an answer from another authorization server is not used (RFC 9207: %s)',
  async (iss) => {
    await using rig = await loginRig();
    Object.assign(rig.peer.issuer, { authorization_response_iss_parameter_supported: true });
    const login = failureOf(
      rig.login({}, async (link) => {
        const back = new URL(link).searchParams;
        const query = new URLSearchParams({
          code: 'a-code-of-theirs',
          state: back.get('state') ?? '',
          ...(iss === '' ? {} : { iss }),
        });
        await fetch(`${back.get('redirect_uri')}?${query}`);
      }),
    );
    expect(await login).toMatch(/not from the authorization server that was asked/);
    expect(rig.peer.forms).toEqual([]);
  },
);

test('what a person is shown cannot drive the terminal', async () => {
  await using rig = await loginRig();
  Object.assign(rig.peer.issuer, { authorization_endpoint: `${rig.peer.origin}/authorize?\u001b]0;owned\u0007&a=\u202eb` });
  rig.peer.challenge = 'Bearer scope="notes:read \x80\x9b2J"';
  await rig.login();
  const shown = JSON.stringify(rig.shown);
  expect([...shown].filter((char) => char < ' ' || (char >= '\x7f' && char <= '\x9f') || char === '\u202e')).toEqual([]);
  expect(shown).not.toContain('\\u');
  expect(rig.shown[0]?.scopes).toEqual(['notes:read']);
});

test('a challenge of thousands of scopes asks for no more than fifty', async () => {
  await using rig = await loginRig();
  rig.peer.challenge = `Bearer scope="${Array.from({ length: 2_000 }, (_, n) => `s${n}`).join(' ')}"`;
  await rig.login();
  expect(rig.shown[0]?.scopes).toHaveLength(50);
});

test('the secret of the config goes to the issuer of the config alone', async () => {
  const oauth = { client_id: 'app', client_secret_env: 'APP_SECRET', issuer: 'https://auth.example.org' };
  await using rig = await loginRig({ entry: { oauth }, secrets: { APP_SECRET: 'the-secret-of-the-app' } });
  expect(await failureOf(rig.login())).toMatch(/does not name the issuer of the config/);
  expect(rig.peer.requests).not.toContain('POST /token');
});

test('a server that answers 401 for ever is asked twice for each request, and wants a person then', async () => {
  await using rig = await loginRig();
  await rig.login();
  rig.peer.takes = () => false;
  rig.peer.requests.length = 0;
  expect(await failureOf(rig.tools())).toMatch(/^GH2304 .* does not take the token that was just renewed/);
  expect(rig.peer.requests).toEqual(['POST /mcp initialize', 'POST /token', 'POST /mcp initialize']);
});

test('the token goes to no other origin, wherever the server leads', async () => {
  await using rig = await loginRig();
  await rig.login();
  const seen: unknown[] = [];
  const other = createServer((request, response) => {
    seen.push(request.headers);
    response.end('{}');
  });
  await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve));
  const location = `http://127.0.0.1:${(other.address() as AddressInfo).port}/mcp`;
  rig.peer.routes['/mcp'] = () => ({ status: 307, headers: { location } });
  await expect(rig.tools()).rejects.toThrow(/Redirect to .* not followed/);
  expect(seen).toEqual([]);
  other.close();
});

test('the token of an address is not sent to another one', async () => {
  await using rig = await loginRig();
  await rig.login();
  await using other = await loginRig();
  const moved = { ...rig.entry, url: other.peer.url };
  await expect(rig.tools(moved)).rejects.toMatchObject({ code: 'GH2304' });
  expect(other.peer.authorizations).toEqual([undefined]);
});
