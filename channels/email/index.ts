import { readFile } from 'node:fs/promises';
import type { ChannelDescriptor } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import { EmailSettings } from './settings.ts';

export const channel: ChannelDescriptor<EmailSettings> = {
  type: 'email',
  settings: EmailSettings,
  guarantee: {
    inbound: 'B',
    inboundHow: 'UID cursor with UIDVALIDITY',
    send: 'find',
    sendHow: 'by Message-ID in a copy to the own mailbox',
    loss: 'nothing',
  },
  async create(settings, deps) {
    // Most servers take the address, or its first part, for the login name; every id holds it.
    const shown = [settings.from_address, settings.from_address.split('@')[0] ?? ''];
    const credentials = { user: deps.secret(settings.username_env, shown), password: deps.secret(settings.password_env) };
    const ca = settings.tls_ca_file === undefined ? undefined : await readAuthority(settings.tls_ca_file);
    const { EmailChannel } = await import('./channel.ts');
    return new EmailChannel({ settings, deps, credentials, ...(ca === undefined ? {} : { ca }) });
  },
};

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
