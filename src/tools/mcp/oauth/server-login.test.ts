import { renameSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openJournal } from '../../../journal/open.ts';
import { FakeClock, until } from '../../../testing/fakes.ts';
import { failureOf, type LoginRig, loginRig } from '../../../testing/mcp-login-rig.ts';
import { McpServers } from '../servers.ts';
import { loginFor } from './server-login.ts';

const HOUR = 3_600_000;
const { signal } = new AbortController();

function opened({ entry, about }: LoginRig) {
  const login = loginFor('notes', entry, about);
  if (!login) throw new Error('the entry has no login');
  return login;
}

function refreshes({ peer }: LoginRig): number {
  return peer.forms.filter((form) => form.get('grant_type') === 'refresh_token').length;
}

/** The next renewal cannot be written; from the request on that is made with it there is room again. */
function fillDiskAtRenewal({ dir, peer }: LoginRig): void {
  const place = join(dir, 'mcp-logins/notes');
  const { takes } = peer;
  peer.routes['/token'] = () => {
    renameSync(place, `${place}-away`);
    return undefined;
  };
  peer.takes = (...asked) => {
    rmSync(place, { recursive: true, force: true });
    renameSync(`${place}-away`, place);
    delete peer.routes['/token'];
    peer.takes = takes;
    return takes(...asked);
  };
}

test('a token is renewed before it expires, with the refresh token that came last', async () => {
  const clock = new FakeClock();
  await using rig = await loginRig({ clock });
  await rig.login();
  const login = opened(rig);
  const first = await login.token(signal);
  await clock.advance(HOUR / 2);
  expect(await login.token(signal)).toBe(first);
  for (const n of [1, 2, 3]) {
    await clock.advance(HOUR);
    expect(await login.token(signal)).not.toBe(first);
    expect(refreshes(rig)).toBe(n);
  }
  const used = rig.peer.forms.map((form) => form.get('refresh_token'));
  expect(new Set(used).size).toBe(used.length);
  expect(rig.peer.forms.at(-1)?.get('resource')).toBe(rig.peer.url);
  expect(login.secrets()).toContain(await login.token(signal));
});

test('twenty requests of two daemons with one expired login send its refresh token once', async () => {
  const clock = new FakeClock();
  await using rig = await loginRig({ clock });
  await rig.login();
  const logins = [opened(rig), opened(rig)];
  await clock.advance(HOUR);
  const asked = Array.from({ length: 20 }, (_, n) => logins[n % 2]?.token(signal));
  const done = Promise.all(asked);
  // The second one waits for the file by the clock.
  let isDone = false;
  const end = () => (isDone = true);
  done.then(end, end);
  while (!isDone) {
    await clock.advance(20);
    // The issuer answers in real time: on a busy machine the clock would run into its time-out.
    await sleep(2);
  }
  expect(new Set(await done).size).toBe(1);
  expect(refreshes(rig)).toBe(1);
});

test('tokens that could not be stored are when the entry changes, and at the end: no refresh token is sent twice', async () => {
  const clock = new FakeClock();
  await using rig = await loginRig({ clock });
  await rig.login();
  await using journal = await openJournal({ dir: rig.dir, clock });
  const about = { ...rig.about, journal: journal.journal, pins: journal.pins, redact: (text: string) => text };
  const stateOn = async (servers: McpServers, entry: LoginRig['entry']) => {
    await servers.apply({ notes: entry });
    await until('it was asked', () => servers.status()[0]?.state !== 'starting');
    return servers.status()[0]?.state;
  };
  {
    await using servers = new McpServers(about);
    fillDiskAtRenewal(rig);
    await clock.advance(HOUR);
    expect(await stateOn(servers, rig.entry)).toBe('up');
    expect(await stateOn(servers, { ...rig.entry, pin: 'first-use' })).toBe('up');
    await servers.apply({});
    fillDiskAtRenewal(rig);
    await clock.advance(HOUR);
    expect(await stateOn(servers, rig.entry)).toBe('up');
  }
  await using servers = new McpServers(about);
  expect(await stateOn(servers, rig.entry)).toBe('up');
  expect(refreshes(rig)).toBe(2);
});

test('a refresh token that is refused is not sent again, and a new login is taken up', async () => {
  const clock = new FakeClock();
  await using rig = await loginRig({ clock });
  await rig.login();
  const login = opened(rig);
  rig.peer.routes['/token'] = ({ body }) => {
    rig.peer.forms.push(new URLSearchParams(body));
    return { status: 400, body: { error: 'invalid_grant' } };
  };
  await clock.advance(HOUR);
  for (const _ of [1, 2, 3])
    expect(await failureOf(login.token(signal))).toMatch(
      /^GH2304 notes wants a login: the login of notes expired and could not be renewed: the authorization server refused: invalid_grant → run `gatehouse mcp login notes`/,
    );
  expect(refreshes(rig)).toBe(1);
  expect(rig.logger.lines.filter(({ event }) => event === 'auth.renewal')).toHaveLength(1);
  delete rig.peer.routes['/token'];
  await rig.login();
  expect(await login.token(signal)).toMatch(/^access-token-/);
});

test.each(['<html>', { error: 'temporarily_unavailable' }])(
  'a renewal that fails for now is tried again after half a minute (%s)',
  async (body) => {
    const clock = new FakeClock();
    await using rig = await loginRig({ clock });
    await rig.login();
    const login = opened(rig);
    rig.peer.routes['/token'] = () => ({ status: 503, body });
    await clock.advance(HOUR);
    expect(await failureOf(login.token(signal))).toMatch(/^GH2203 /);
    delete rig.peer.routes['/token'];
    await clock.advance(30_000);
    expect(await login.token(signal)).toMatch(/^access-token-/);
  },
);

test('no log and no error of a renewal holds a token', async () => {
  const clock = new FakeClock();
  await using rig = await loginRig({ clock });
  await rig.login();
  const stored = await readFile(join(rig.dir, 'mcp-logins/notes/auth.json'), 'utf8');
  const [, secret = ''] = /"refresh_token": "([^"]+)"/.exec(stored) ?? [];
  rig.peer.routes['/token'] = () => ({ status: 400, body: { error: 'invalid_grant', error_description: `of ${secret}` } });
  await clock.advance(HOUR);
  const said = await failureOf(opened(rig).token(signal));
  expect(said).toContain('of [secret]');
  expect(secret).not.toBe('');
  expect(said + JSON.stringify(rig.logger.lines)).not.toContain(secret);
});

test('a client of its own asks with its secret, once for many requests, and anew when its token expires', async () => {
  const clock = new FakeClock();
  const oauth = { grant: 'client_credentials', client_id: 'app', client_secret_env: 'APP_SECRET', scopes: ['notes:all'] };
  const origin = { issuer: 'http://127.0.0.1:1' };
  await using rig = await loginRig({
    clock,
    entry: { oauth: { ...oauth, ...origin } },
    secrets: { APP_SECRET: 'the-secret-of-the-app' },
  });
  Object.assign(rig.entry.oauth ?? {}, { issuer: rig.peer.origin });
  Object.assign(rig.peer.issuer, {
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
    code_challenge_methods_supported: undefined,
  });
  const login = opened(rig);
  expect(await login.token(signal)).toBeUndefined();
  const challenge = { wants: 'token', scopes: [] } as const;
  const tokens = await Promise.all([1, 2, 3].map(() => login.challenged(undefined, challenge, signal)));
  expect(new Set(tokens).size).toBe(1);
  expect(rig.peer.forms).toHaveLength(1);
  expect(Object.fromEntries(rig.peer.forms[0] ?? [])).toEqual({
    grant_type: 'client_credentials',
    scope: 'notes:all',
    resource: rig.peer.url,
  });
  await clock.advance(HOUR);
  expect(await login.token(signal)).not.toBe(tokens[0]);
  expect(rig.peer.forms).toHaveLength(2);
  expect(login.secrets()).toHaveLength(1);
  rig.peer.routes['/token'] = () => ({
    status: 401,
    body: { error: 'invalid_client', error_description: 'not the-secret-of-the-app' },
  });
  await clock.advance(HOUR);
  expect(await failureOf(login.token(signal))).toBe(
    'GH2302 notes gave no token: the authorization server refused: invalid_client: not [secret] → check "oauth" of its entry in mcp_servers',
  );
});
