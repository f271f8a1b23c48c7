import type { ChannelDeps } from '../../src/core/channel.ts';
import { passwordOnly } from './login.ts';
import type { EmailSettings } from './settings.ts';
import { STORED_AS } from './wire/credentials.ts';
import { openLoginStore } from './wire/login-store.ts';
import { mailProvider } from './wire/provider.ts';

/**
 * Removes the stored tokens. A daemon that runs reads the file before each connection, so it stops with the
 * next one. The provider goes on knowing the consent until the person takes it back there.
 */
export async function logout(settings: EmailSettings, deps: ChannelDeps, signal: AbortSignal): Promise<string | undefined> {
  if (settings.oauth === undefined) throw passwordOnly();
  // Without the secret of the client: nothing is renewed here.
  await using store = openLoginStore(deps, mailProvider({ ...settings.oauth, client_secret_env: undefined }, deps.secret));
  const removed = await store.remove(STORED_AS, signal);
  return removed ? 'Take the access back at the provider too: in the account of the mailbox, among its apps.' : undefined;
}
