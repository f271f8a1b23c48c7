/** How both servers of a mailbox are reached, from its settings. */
import { readFile } from 'node:fs/promises';
import type { ChannelDeps } from '../../../src/core/channel.ts';
import { GatehouseError } from '../../../src/core/errors.ts';
import type { EmailSettings } from '../settings.ts';
import type { ServerPlace } from './client.ts';
import { type Credentials, passwordCredentials, tokenCredentials } from './credentials.ts';
import { loginCommand, openLoginStore } from './login-store.ts';
import { mailProvider } from './provider.ts';

export interface MailAccess {
  readonly imap: ServerPlace;
  readonly smtp: ServerPlace;
  /** The same for both. */
  readonly credentials: Credentials;
}

/**
 * Connects nothing. Rejects with GH1103 for a secret that is not set, with GH1101 for a certificate that
 * cannot be read.
 */
export async function mailAccess(settings: EmailSettings, deps: ChannelDeps): Promise<MailAccess> {
  const credentials = credentialsOf(settings, deps);
  const ca = settings.tls_ca_file === undefined ? {} : { ca: await readAuthority(settings.tls_ca_file) };
  const common = { rejectUnauthorized: settings.tls_reject_unauthorized, ...ca };
  const smtpTls = settings.smtp_tls ?? (settings.smtp_port === 465 ? 'implicit' : 'starttls');
  return {
    imap: { host: settings.imap_host, port: settings.imap_port, tls: settings.imap_tls, ...common },
    smtp: { host: settings.smtp_host, port: settings.smtp_port, tls: smtpTls, ...common },
    credentials,
  };
}

function credentialsOf(settings: EmailSettings, deps: ChannelDeps): Credentials {
  const { oauth, from_address: address } = settings;
  if (oauth) {
    const store = openLoginStore(deps, mailProvider(oauth, deps.secret));
    return tokenCredentials({ user: oauth.username ?? address, store, loginCommand: loginCommand(deps) });
  }
  // Most servers take the address, or its first part, for the login name; every id holds it.
  const shown = [address, address.split('@')[0] ?? ''];
  return passwordCredentials(deps.secret(settings.username_env, shown), deps.secret(settings.password_env));
}

async function readAuthority(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new GatehouseError('GH1101', `tls_ca_file ${path} cannot be read`, {
      cause,
      hint: 'check the path and its permissions',
    });
  }
}
