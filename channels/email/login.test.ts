/** Logging in by OAuth2, against a token server that is as strict as the platform's pages. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ChannelDeps } from '../../src/core/channel.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { ENTRA_CLIENT } from '../../src/testing/email/entra-forms.ts';
import { type EntraOptions, EntraServer } from '../../src/testing/email/entra-server.ts';
import { FakeClock, tempDir, until } from '../../src/testing/fakes.ts';
import { CLIENT_ID, FormBrowser, startOidcServer } from '../../src/testing/oidc-server.ts';
import { channel } from './index.ts';
import { mailProvider } from './wire/provider.ts';

const SERVERS = { imap_host: '127.0.0.1', imap_port: 1, smtp_host: '127.0.0.1', smtp_port: 1, trust_from: true };
const BOT = 'bot@example.test';
/** The names that a local server may have as an issuer have no preset. */
const SCOPES = ['https://outlook.office.com/IMAP.AccessAsUser.All', 'https://outlook.office.com/SMTP.Send', 'offline_access'];

function settingsWith(oauth: Readonly<Record<string, unknown>>) {
  return channel.settings.parse({ ...SERVERS, from_address: BOT, oauth: { client_id: ENTRA_CLIENT, ...oauth } });
}

interface Outcome {
  readonly error: (Error & { readonly code?: string; readonly hint?: string }) | undefined;
}

/** A login under way at `issuer`, with what it says. */
async function begin(issuer: string, oauth: Readonly<Record<string, unknown>> = {}, override: Partial<ChannelDeps> = {}) {
  const dir = await tempDir();
  const stop = new AbortController();
  const said: string[] = [];
  const settings = settingsWith({ issuer, scopes: SCOPES, ...oauth });
  const deps = channelDeps({ name: 'email', dir: join(dir.path, 'email'), ...override });
  const ui = { say: (text: string) => void said.push(text), qr: () => undefined };
  let over = false;
  const outcome: Promise<Outcome> = (channel.login?.(settings, deps, ui, stop.signal) ?? Promise.resolve())
    .then(
      () => ({ error: undefined }),
      (error: Outcome['error']) => ({ error }),
    )
    .finally(() => {
      over = true;
    });
  await until('it says what to do, or ended', () => over || said.length > 0);
  const file = join(deps.dir, 'auth.json');
  return {
    ...{ settings, deps, said, stop, outcome, file },
    /** Lets time run as fast as the answers come. */
    async finish(clock: FakeClock): Promise<Outcome> {
      for (; !over; await new Promise((resolve) => setTimeout(resolve, 2))) await clock.advance(1_000);
      return await outcome;
    },
    stored: () => readFile(file, 'utf8').catch(() => undefined),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

async function beginDevice(options: EntraOptions & { readonly oauth?: Readonly<Record<string, unknown>>; secret?: string } = {}) {
  const clock = new FakeClock();
  const server = await EntraServer.start({ now: () => clock.now(), ...options });
  const secret = () => options.secret ?? 'unset';
  const login = await begin(server.issuer, options.oauth, { clock, secret });
  return {
    ...login,
    ...{ server, clock },
    finish: () => login.finish(clock),
    polls: () => server.requests.filter((line) => line.startsWith('token')).length,
    async [Symbol.asyncDispose]() {
      await login[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

test('a login by a code stores tokens that only the owner of the file can read, and says none of them', async () => {
  await using it = await beginDevice();
  expect(it.said[0]).toContain(`https://www.microsoft.com/link`);
  expect(it.said[0]).toContain(it.server.userCode);
  await it.clock.advance(11_000);
  it.server.decide(BOT);
  expect(await it.finish()).toEqual({ error: undefined });
  const stored = JSON.parse((await it.stored()) ?? '');
  const [, access, refresh] = it.server.tokens.secrets;
  expect(stored.credentials.mailbox).toMatchObject({ access_token: access, refresh_token: refresh, client_id: ENTRA_CLIENT });
  expect((await stat(it.file)).mode & 0o777).toBe(0o600);
  expect(it.server.requests.filter((line) => line.includes('slow'))).toEqual([]);
  const words = it.said.join('\n');
  expect(it.server.tokens.secrets.filter((secret) => words.includes(secret))).toEqual([]);
  // Stored although no mail server runs here, which is said.
  expect(words).toContain('IMAP server 127.0.0.1:1 cannot be reached');
});

test.each([
  ['declined', (it: Scene) => it.server.decide(undefined), 'the login was refused at the issuer'],
  ['expired', (it: Scene) => it.clock.advance(16 * 60_000), 'the code expired before it was entered'],
  [
    'refused by Conditional Access',
    (it: Scene) => {
      it.server.interfere = { status: 400, body: '{"error":"invalid_grant","error_description":"AADSTS53003: Blocked"}' };
    },
    'AADSTS53003: Blocked',
  ],
])('a code that was %s ends the login and stores nothing', async (_what, act, words) => {
  await using it = await beginDevice();
  await act(it);
  const { error } = await it.finish();
  expect(error).toMatchObject({ code: 'GH2201', message: expect.stringContaining(words) });
  expect(await it.stored()).toBeUndefined();
});

type Scene = Awaited<ReturnType<typeof beginDevice>>;

test('a server that says slow_down is asked five seconds later each time', async () => {
  await using it = await beginDevice();
  it.server.interfere = { status: 400, body: '{"error":"slow_down"}' };
  await it.clock.advance(5_000);
  await expect.poll(it.polls).toBe(1);
  it.server.interfere = undefined;
  it.server.decide(BOT);
  expect((await it.finish()).error).toBeUndefined();
  expect(it.polls()).toBe(2);
});

test('Ctrl-C ends the wait with its own reason and stores nothing', async () => {
  await using it = await beginDevice();
  const reason = new Error('interrupted');
  it.stop.abort(reason);
  expect((await it.outcome).error).toBe(reason);
  expect(await it.stored()).toBeUndefined();
});

test('the secret of the client is sent where it is set, in no address, and a wrong one is told without it', async () => {
  const oauth = { client_secret_env: 'MAIL_SECRET' };
  await using right = await beginDevice({ clientSecret: 's3cret-of-client', secret: 's3cret-of-client', oauth });
  right.server.decide(BOT);
  expect((await right.finish()).error).toBeUndefined();
  await using wrong = await beginDevice({ clientSecret: 's3cret-of-client', secret: 'wr0ng-of-client', oauth });
  const { error } = await wrong.outcome;
  expect(error?.message).toContain('AADSTS7000215');
  expect(`${error?.message} ${error?.hint} ${error?.stack}`).not.toContain('wr0ng');
});

test('a login in a browser of this machine uses PKCE and a redirect to 127.0.0.1', async () => {
  await using server = await EntraServer.start();
  await using it = await begin(server.issuer, { login: 'browser' });
  const address = /http:\S+/.exec(it.said[0] ?? '')?.[0] ?? '';
  const { searchParams } = new URL(address);
  expect([searchParams.get('scope'), searchParams.get('nonce')]).toEqual([SCOPES.join(' '), null]);
  const page = await server.browse(address, BOT);
  expect([page.status, (await it.outcome).error]).toEqual([200, undefined]);
  expect(JSON.parse((await it.stored()) ?? '').credentials.mailbox.refresh_token).toBe(server.tokens.secrets.at(-1));
});

test('a login without a refresh token is not kept', async () => {
  await using it = await beginDevice({ oauth: { scopes: SCOPES.slice(0, 2) } });
  it.server.decide(BOT);
  const { error } = await it.finish();
  expect(error).toMatchObject({ code: 'GH2201', hint: expect.stringContaining('offline_access') });
  expect(await it.stored()).toBeUndefined();
});

test('a tenant is the address of its token server, and what is asked for is what the mail servers want', () => {
  const oauth = settingsWith({ tenant: 'contoso.onmicrosoft.com' }).oauth;
  if (!oauth) throw new Error('no login');
  expect(mailProvider(oauth, () => 'unset')).toMatchObject({
    issuer: 'https://login.microsoftonline.com/contoso.onmicrosoft.com/v2.0',
    clientSecret: undefined,
    scopes: SCOPES,
  });
});

test('a login that names no provider asks for one, and not for scopes of it', () => {
  const { error } = channel.settings.safeParse({ ...SERVERS, from_address: BOT, oauth: { client_id: ENTRA_CLIENT } });
  expect(error?.issues.map(({ message }) => message)).toEqual([
    'set either `tenant` (Microsoft 365) or `issuer` (any other provider)',
  ]);
});

test('any OpenID provider will do: oidc-provider', async () => {
  await using server = await startOidcServer();
  const clock = new FakeClock(Date.now());
  const oauth = { client_id: CLIENT_ID, scopes: ['openid', 'offline_access'] };
  await using it = await begin(server.issuer, oauth, { clock });
  const [, code = ''] = /\n\n\s+(\S+)\n/.exec(it.said[0] ?? '') ?? [];
  await new FormBrowser().logIn(`${server.issuer}/device?user_code=${code}`);
  expect((await it.finish(clock)).error).toBeUndefined();
  expect(JSON.parse((await it.stored()) ?? '').credentials.mailbox.access_token).toBe(server.tokens.at(-1)?.['access_token']);
});

test('an issuer on another machine has to have https', async () => {
  await using it = await begin('http://login.example.com/v2.0');
  expect((await it.outcome).error?.message).toContain('is not an encrypted address');
});

test('logging out removes the tokens, once', async () => {
  await using it = await beginDevice();
  it.server.decide(BOT);
  await it.finish();
  expect(await channel.logout?.(it.settings, it.deps, it.stop.signal)).toContain('at the provider');
  expect(await it.stored()).not.toContain(it.server.tokens.secrets[1]);
  expect(await channel.logout?.(it.settings, it.deps, it.stop.signal)).toBeUndefined();
});

test('a mailbox with a password has no login, and says what to set', async () => {
  const settings = channel.settings.parse({ ...SERVERS, from_address: BOT });
  const deps = channelDeps({ clock: systemClock });
  const ui = { say: () => undefined, qr: () => undefined };
  const { signal } = new AbortController();
  const refusal = { code: 'GH1101', hint: expect.stringContaining('`oauth`') };
  await expect(channel.login?.(settings, deps, ui, signal)).rejects.toMatchObject(refusal);
  await expect(channel.logout?.(settings, deps, signal)).rejects.toMatchObject(refusal);
});

test.each([
  [{}, 'set either `tenant`'],
  [{ tenant: 'contoso.com', issuer: 'https://a.example' }, 'set either `tenant`'],
  [{ issuer: 'https://a.example' }, 'set the scopes'],
  [{ tenant: 'contoso.com/x' }, 'must be a directory (tenant) ID or a domain'],
  [{ tenant: 'contoso.com', scopes: ['a b'] }, 'must be one scope'],
  [{ tenant: 'contoso.com', client_secret_env: 'not a name' }, 'must be the name of an environment variable'],
])('settings that cannot work are refused: %j', (oauth, words) => {
  expect(() => settingsWith(oauth)).toThrow(words);
});
