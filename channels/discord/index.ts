import type { ChannelDeps, ChannelDescriptor } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';
import { DiscordSettings } from './settings.ts';

/** `<bot id in base64>.<time>.<secret>`; the id is public and immutable, so it serves as the account. */
const TOKEN = /^([\w-]{18,30})\.[\w-]{1,64}\.[\w-]{1,128}$/;

export const channel: ChannelDescriptor<DiscordSettings> = {
  type: 'discord',
  platformLimits: PLATFORM_LIMITS,
  settings: DiscordSettings,
  guarantee: {
    inbound: 'C',
    inboundHow: "closed by the session's replay and the history of each chat",
    send: 'idem',
    sendHow: 'a nonce, for two minutes',
    loss: 'an edit, deletion or reaction while the daemon was away; an answer in doubt for longer than two minutes is shown as UNKNOWN',
  },
  async create(options, deps: ChannelDeps) {
    const token = deps.secret(options.token_env);
    const account = accountOf(token);
    if (account === undefined) {
      throw new GatehouseError('GH1101', `${options.token_env} does not hold a Discord bot token`, {
        hint: 'copy the token from the Bot page of your application; it is neither the public key nor the client secret',
      });
    }
    // The SDK is loaded here and not at import time: a daemon without Discord does not pay for it.
    const [{ DiscordClient }, { DiscordChannel }] = await Promise.all([import('./wire/client.ts'), import('./channel.ts')]);
    const apiRoot = options.api_root.replace(/\/+$/, '');
    const client = new DiscordClient({ token, apiRoot, clock: deps.clock });
    return new DiscordChannel({ client, account, settings: options, deps });
  },
};

function accountOf(token: string): string | undefined {
  const [, head] = TOKEN.exec(token) ?? [];
  const id = head === undefined ? '' : Buffer.from(head, 'base64url').toString('latin1');
  return /^\d{15,20}$/.test(id) ? id : undefined;
}
