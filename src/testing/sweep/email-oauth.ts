/**
 * The mailbox of the platform `email`, entered with access tokens that have to be renewed while the daemon is
 * killed.
 */
import { join } from 'node:path';
import { openAuthStore } from '../../lib/auth/store.ts';
import { systemClock } from '../../lib/clock.ts';
import type { MailServers } from '../../simulator/email/servers.ts';
import { EmailPlatform, serversOrWords } from '../../simulator/platforms/email.ts';
import type { Platform } from '../../simulator/platforms/platform.ts';
import { ENTRA_CLIENT } from '../email/entra-forms.ts';
import { EntraServer } from '../email/entra-server.ts';

class EmailByToken extends EmailPlatform {
  readonly #servers: MailServers;
  readonly #entra: EntraServer;

  constructor(servers: MailServers, entra: EntraServer) {
    super(servers);
    this.#servers = servers;
    this.#entra = entra;
  }

  override get channel(): EmailPlatform['channel'] {
    const { settings, ...entry } = super.channel;
    const { imapsPort, smtpsPort, caFile } = this.#servers;
    const encrypted = {
      ...{ imap_port: imapsPort, imap_tls: 'implicit', smtp_port: smtpsPort, smtp_tls: 'implicit', tls_ca_file: caFile },
      oauth: { issuer: this.#entra.issuer, client_id: ENTRA_CLIENT, scopes: ['offline_access'] },
    };
    return { ...entry, settings: { ...settings, ...encrypted } };
  }

  /** The login is a file. */
  override get env(): Record<string, string> {
    return {};
  }

  /** A person logged in: what `gatehouse channels login email` leaves. */
  override async begin(dataDir: string): Promise<void> {
    await super.begin(dataDir);
    const store = openAuthStore({ dir: join(dataDir, 'channels', this.type), clock: systemClock });
    const identity = {
      provider: 'mailbox',
      authMethod: 'device_code',
      issuer: this.#entra.issuer,
      clientId: ENTRA_CLIENT,
    } as const;
    await store.set({ ...identity, ...this.#entra.give(this.#servers.users.bot) }, new AbortController().signal);
    await store[Symbol.asyncDispose]();
  }

  /** No access token counts any more, so that the daemon has to renew its own before it reads this mail. */
  override async write(person: number, text: string): Promise<void> {
    this.#entra.tokens.endAccess();
    await super.write(person, text);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.#entra[Symbol.asyncDispose]();
  }
}

/**
 * A refresh token that was used still counts, as at Microsoft: a kill can come between its answer and the
 * file.
 */
export async function startEmailByToken(): Promise<Platform> {
  const entra = await EntraServer.start();
  const tokens = { introspectionUrl: entra.introspectionUrl, mechanisms: 'xoauth2' };
  try {
    return new EmailByToken(await serversOrWords({ tokens }), entra);
  } catch (error) {
    await entra[Symbol.asyncDispose]();
    throw error;
  }
}
