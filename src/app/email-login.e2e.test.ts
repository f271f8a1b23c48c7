// A mailbox with access tokens across kills: real dovecot and postfix, a strict token server, the real
// program.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openAuthStore } from '../lib/auth/store.ts';
import { systemClock } from '../lib/clock.ts';
import { type MailServers, mailServersMissing, startMailServers } from '../simulator/email/servers.ts';
import { filesHolding } from '../testing/bytes-on-disk.ts';
import { startChild } from '../testing/child-daemon.ts';
import { ENTRA_CLIENT } from '../testing/email/entra-forms.ts';
import { EntraServer } from '../testing/email/entra-server.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { startModelServer } from '../testing/model-server.ts';

const missing = mailServersMissing();
if (missing !== undefined) {
  if (process.env['CI']) throw new Error(`the mail servers are missing: ${missing}`);
  process.stderr.write(`src/app/email-login.e2e.test.ts skipped: ${missing}\n`);
}

const BOT = 'bot@example.test';
const never = new AbortController().signal;

describe.skipIf(missing !== undefined)('a mailbox with access tokens', () => {
  let entra: EntraServer;
  let servers: MailServers;
  beforeAll(async () => {
    entra = await EntraServer.start();
    servers = await startMailServers({ tokens: { introspectionUrl: entra.introspectionUrl, mechanisms: 'xoauth2' } });
  });
  afterAll(async () => {
    await servers?.stop();
    await entra?.[Symbol.asyncDispose]();
  });

  async function scene() {
    const model = await startModelServer({});
    const dir = await tempDir();
    const settings = {
      ...{ imap_host: servers.host, imap_port: servers.imapsPort, smtp_host: servers.host, smtp_port: servers.smtpsPort },
      ...{ smtp_tls: 'implicit', tls_ca_file: servers.caFile, from_address: BOT, authserv_id: 'mx.example.test' },
      oauth: { issuer: entra.issuer, client_id: ENTRA_CLIENT, scopes: ['offline_access'] },
      ...{ poll_interval_secs: 1, find_grace_secs: 2 },
    };
    const gateway = { channels: [{ type: 'email', allowed_senders: ['alice@example.test'], settings }], http: { port: 0 } };
    const config = { provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY', gateway };
    const own = join(dir.path, 'data', 'channels', 'email');
    const given = { ...entra.give(BOT), expiresAt: Date.now() + 10_000 };
    const identity = { provider: 'mailbox', authMethod: 'device_code', issuer: entra.issuer, clientId: ENTRA_CLIENT } as const;
    await openAuthStore({ dir: own, clock: systemClock }).set({ ...identity, ...given }, never);
    return {
      dataDir: join(dir.path, 'data'),
      file: join(own, 'auth.json'),
      spawn: () => startChild({ dir: dir.path, config, env: { TEST_KEY: 'sk' } }),
      start: () => startInline({ dir: dir.path, config, env: { TEST_KEY: 'sk' } }),
      ask: async (words: string) => {
        const head = ['Authentication-Results: mx.example.test; dmarc=pass header.from=example.test', 'From: alice@example.test'];
        await servers.deliver([...head, `To: ${BOT}`, `Message-ID: <${words}@example.test>`, '', words].join('\r\n'));
        await until('it is answered', async () =>
          (await servers.mailbox('alice')).find(({ raw }) => raw.includes(`In-Reply-To: <${words}@example.test>`)),
        );
      },
      async [Symbol.asyncDispose]() {
        await model[Symbol.asyncDispose]();
        await dir[Symbol.asyncDispose]();
      },
    };
  }

  const renewals = () => entra.requests.filter((line) => line === 'token refresh_token').length;

  test('a refresh token that was rotated is the one that the next start uses, after a kill; no token stands anywhere else', async () => {
    entra.tokens.strictRotation = true;
    await using at = await scene();
    const before = renewals();
    await using first = await at.spawn();
    await first.ready();
    await at.ask('first');
    expect(renewals()).toBe(before + 1);
    await first.stop('SIGKILL');
    // The token that was stored is refused now: the next start has to renew it, and an old refresh token
    // would end the login.
    entra.tokens.endAccess();
    await using second = await at.start();
    await second.ready();
    await at.ask('second');
    expect(renewals()).toBe(before + 2);
    const { stored, elsewhere } = Object.groupBy(await filesHolding(at.dataDir, entra.tokens.secrets), (found) =>
      found.startsWith(at.file) ? 'stored' : 'elsewhere',
    );
    expect([stored?.length, elsewhere]).toEqual([2, undefined]);
    const said = [first, second].map((daemon) => daemon.stderr() + daemon.stdout()).join('');
    expect(entra.tokens.secrets.filter((secret) => said.includes(secret))).toEqual([]);
  });

  test('a kill before the new refresh token was on disk ends no login where the old one still counts, as at Microsoft', async () => {
    entra.tokens.strictRotation = false;
    await using at = await scene();
    const old = await readFile(at.file, 'utf8');
    const before = renewals();
    await using first = await at.spawn();
    await first.ready();
    await until('it is renewed', () => renewals() > before);
    await first.stop('SIGKILL');
    expect(renewals()).toBe(before + 1);
    await writeFile(at.file, old, { mode: 0o600 });
    await using second = await at.start();
    await second.ready();
    await at.ask('third');
    expect(renewals()).toBe(before + 2);
  });
});
