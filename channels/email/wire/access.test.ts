/**
 * A mailbox that is opened with access tokens: real dovecot and postfix, which ask a strict token server
 * about each.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Channel, ChannelDeps } from '../../../src/core/channel.ts';
import { openAuthStore } from '../../../src/lib/auth/store.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { type MailServers, mailServersMissing, startMailServers } from '../../../src/simulator/email/servers.ts';
import { channelDeps } from '../../../src/testing/channel-deps.ts';
import { TestHost } from '../../../src/testing/channel-host.ts';
import { ENTRA_CLIENT } from '../../../src/testing/email/entra-forms.ts';
import { EntraServer, type GivenTokens } from '../../../src/testing/email/entra-server.ts';
import { MemoryLogger, outbound, tempDir, until } from '../../../src/testing/fakes.ts';
import { channel as descriptor } from '../index.ts';
import { ImapSession } from './client.ts';

const missing = mailServersMissing();
if (missing !== undefined) {
  if (process.env['CI']) throw new Error(`the mail servers are missing: ${missing}`);
  process.stderr.write(`channels/email/wire/access.test.ts skipped: ${missing}\n`);
}

const never = new AbortController().signal;
/** Longest time of one renewal: the one wait that is not shortened. */
const RENEWAL_MS = 20_000;
/** Waits between attempts pass at once. */
const hasty: ChannelDeps['clock'] = {
  ...systemClock,
  monotonic: () => systemClock.monotonic() * 100,
  sleep: (ms, signal) => systemClock.sleep(ms === RENEWAL_MS ? ms : Math.min(ms, 200), signal),
};
let ids = 0;

describe.skipIf(missing !== undefined)('a mailbox with access tokens, against dovecot and postfix', () => {
  let entra: EntraServer;
  let servers: MailServers;

  beforeAll(async () => {
    entra = await EntraServer.start();
    const users = Array.from({ length: 12 }, (_, index) => `bot${index}`);
    servers = await startMailServers({ users, tokens: { introspectionUrl: entra.introspectionUrl, mechanisms: 'xoauth2' } });
  });
  afterAll(async () => {
    await servers?.stop();
    await entra?.[Symbol.asyncDispose]();
  });

  /** A bot of its own with a login in store, unless `tokens` is null. */
  async function scene({
    tokens,
    clock = systemClock,
  }: {
    tokens?: Partial<GivenTokens> | null;
    clock?: ChannelDeps['clock'];
  } = {}) {
    const bot = `bot${ids++}`;
    const address = `${bot}@example.test`;
    entra.interfere = undefined;
    entra.tokens.strictRotation = true;
    const dir = await tempDir();
    const logger = new MemoryLogger();
    const deps = channelDeps({ name: 'email', dir: join(dir.path, 'email'), clock, logger, secret: () => 'unset' });
    const settings = descriptor.settings.parse({
      ...{ imap_host: servers.host, imap_port: servers.imapPort, imap_tls: 'starttls', tls_ca_file: servers.caFile },
      ...{ smtp_host: servers.host, smtp_port: servers.smtpPort, from_address: address, authserv_id: 'mx.example.test' },
      oauth: { issuer: entra.issuer, client_id: ENTRA_CLIENT, scopes: ['offline_access'] },
      find_grace_secs: 5,
    });
    const login = async (given: GivenTokens) => {
      const identity = { provider: 'mailbox', authMethod: 'device_code', issuer: entra.issuer, clientId: ENTRA_CLIENT } as const;
      await openAuthStore({ dir: deps.dir, clock: systemClock }).set({ ...identity, ...given }, never);
    };
    if (tokens !== null) await login({ ...entra.give(address), ...tokens });
    const host = new TestHost();
    const channel: Channel = await descriptor.create(settings, deps);
    await channel.start(host, never);
    let mails = 0;
    return {
      ...{ bot, address, channel, host, logger, login },
      async write(text: string) {
        mails += 1;
        const head = ['Authentication-Results: mx.example.test; dmarc=pass header.from=example.test', 'From: alice@example.test'];
        await servers.deliver([...head, `Message-ID: <${bot}.${mails}@example.test>`, '', text].join('\r\n'), bot);
        return await until('it is received', () => host.accepted[mails - 1]);
      },
      part: (text: string) =>
        outbound({ channel: 'email', account: address, chatId: 'alice@example.test', key: `${bot}.${mails}.${text}`, text }),
      send: (part: ReturnType<typeof outbound>) => channel.send(part, { plain: false, signal: never }),
      renewals: () => entra.requests.filter((line) => line === 'token refresh_token').length,
      /** As the server does with a connection whose token ended. */
      hangUp: () => servers.doveadm('kick', address),
      said: () => JSON.stringify([logger.lines, host.states]),
      async [Symbol.asyncDispose]() {
        await channel.stop();
        await dir[Symbol.asyncDispose]();
      },
    };
  }

  test('a conversation: received, answered, found again', async () => {
    await using it = await scene();
    expect((await it.write('hello')).text).toContain('hello');
    const part = it.part('the answer');
    expect(await it.send(part)).toMatchObject({ kind: 'sent' });
    await until('it arrived', async () => (await servers.mailbox('alice')).some(({ raw }) => raw.includes('the answer')));
    expect(await it.channel.find?.(part, never)).toMatchObject({ platformId: expect.any(String) });
    expect(it.host.state).toBe('healthy');
  });

  test('a token that ends while the connection idles is renewed before the next one, and the old refresh token is not used again', async () => {
    await using it = await scene({ clock: hasty });
    await it.write('before');
    const before = it.renewals();
    entra.tokens.endAccess();
    await it.hangUp();
    await it.write('after');
    expect(it.renewals()).toBe(before + 1);
    entra.tokens.endAccess();
    expect(await it.send(it.part('with the second'))).toMatchObject({ kind: 'sent' });
    // A second use of either refresh token would have ended the login.
    expect(it.renewals()).toBe(before + 2);
  });

  test('a token that is about to expire is renewed before it is shown to a server', async () => {
    const before = entra.requests.length;
    await using it = await scene({ tokens: { accessToken: 'expired-token', expiresAt: Date.now() + 30_000 } });
    await until('it is healthy', () => it.host.state === 'healthy');
    expect(entra.requests.slice(before).filter((line) => line.startsWith('token'))).toEqual(['token refresh_token']);
    expect(it.logger.lines.filter(({ event }) => event === 'email.disconnected')).toEqual([]);
  });

  test('a revoked login puts the channel down with the command to run, for reading and for sending, and a new one is seen', async () => {
    await using it = await scene({ clock: hasty });
    await it.write('before');
    entra.tokens.revoke();
    await it.hangUp();
    await until('it is down', () => it.host.state === 'down');
    const detail = it.host.states.at(-1)?.detail ?? '';
    expect(detail).toContain('AADSTS50173');
    expect(detail).toContain('run `gatehouse channels login email`');
    expect(await it.send(it.part('not now'))).toMatchObject({ kind: 'refused', reason: 'auth' });
    const asked = it.renewals();
    await new Promise((resolve) => setTimeout(resolve, 100));
    // What was refused for good is not asked again.
    expect(it.renewals()).toBe(asked);
    await it.login(entra.give(it.address));
    await until('it is healthy', () => it.host.state === 'healthy');
    await it.write('after');
    expect(entra.tokens.secrets.filter((secret) => it.said().includes(secret))).toEqual([]);
  });

  test('a mailbox that was not logged in to says so, and starts to work with the login', async () => {
    await using it = await scene({ tokens: null, clock: hasty });
    expect(it.host.states.at(-1)).toEqual({
      state: 'down',
      detail: 'GH1501: this mailbox was not logged in to: run `gatehouse channels login email`',
    });
    await it.login(entra.give(it.address));
    // The first start answers nothing that lies in the mailbox.
    await until('it is healthy', () => it.host.state === 'healthy');
    await it.write('hello');
  });

  test('a token server that is away is no reason to log in again', async () => {
    await using it = await scene({ clock: hasty });
    await it.write('before');
    entra.interfere = { status: 503, body: '{"error":"temporarily_unavailable"}' };
    entra.tokens.endAccess();
    await it.hangUp();
    const said = 'GH1502: the login of mailbox was refused and could not be renewed: ';
    await until('it says so', () => it.host.states.at(-1)?.detail?.startsWith(said));
    expect(it.host.state).toBe('degraded');
    expect(await it.send(it.part('later'))).toMatchObject({ kind: 'retry', scope: 'account' });
    entra.interfere = undefined;
    await it.write('after');
    await until('it is healthy', () => it.host.state === 'healthy');
  });

  test('a token of another person is refused with what to check, after one renewal', async () => {
    await using it = await scene({ tokens: entra.give('mallory@example.test') });
    await until('it is down', () => it.host.state === 'down');
    expect(it.host.states.at(-1)?.detail).toContain(`check that ${it.address} is who logged in`);
    expect(entra.tokens.secrets.filter((secret) => it.said().includes(secret))).toEqual([]);
  });

  test('a server with OAUTHBEARER alone takes the token too', async () => {
    const tokens = { introspectionUrl: entra.introspectionUrl, mechanisms: 'oauthbearer' };
    await using other = await startMailServers({ tokens });
    const { accessToken } = entra.give('bot@example.test');
    const place = { host: other.host, port: other.imapPort, tls: 'none', rejectUnauthorized: true } as const;
    const options = { mailbox: 'INBOX', readOnly: true, signal: never };
    await using session = await ImapSession.open({ ...place, user: 'bot@example.test', accessToken }, options);
    expect(session.uidNext).toBe(1);
    const refused = ImapSession.open({ ...place, user: 'bot@example.test', accessToken: 'unknown' }, options);
    await expect(refused).rejects.toMatchObject({ authenticationFailed: true });
  });
});
