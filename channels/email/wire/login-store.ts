/** The tokens of one mailbox: a private file in the directory of its channel. */
import type { ChannelDeps } from '../../../src/core/channel.ts';
import { type AuthStore, openAuthStore } from '../../../src/lib/auth/store.ts';
import type { MailProvider } from './provider.ts';

/** What a person runs to log in to the mailbox of this channel. */
export function loginCommand({ name }: Pick<ChannelDeps, 'name'>): string {
  return `gatehouse channels login ${name}`;
}

/** Does no I/O before the first call. Renews with the settings as they are now, never at another provider. */
export function openLoginStore(deps: Pick<ChannelDeps, 'name' | 'dir' | 'clock' | 'logger'>, provider: MailProvider): AuthStore {
  const { dir, clock, logger: log } = deps;
  return openAuthStore({
    ...{ dir, clock, log },
    loginCommand: loginCommand(deps),
    renew: async (options) => {
      if (options.issuer !== provider.issuer || options.clientId !== provider.clientId) {
        return { ok: false, reason: 'it was made with other `oauth` settings', final: true };
      }
      const { renewTokens } = await import('../../../src/lib/auth/oauth.ts');
      return await renewTokens({ ...options, clientSecret: provider.clientSecret });
    },
  });
}
