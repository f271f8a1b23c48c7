import type { ChannelDeps, ChannelDescriptor } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';
import { TelegramSettings } from './settings.ts';

/** `<bot id>:<secret>`; the id in front is public and immutable, so it serves as the account. */
const TOKEN = /^(\d{1,20}):[A-Za-z0-9_-]{1,255}$/;

export const channel: ChannelDescriptor<TelegramSettings> = {
  type: 'telegram',
  platformLimits: PLATFORM_LIMITS,
  settings: TelegramSettings,
  groupId: /^-\d/,
  guarantee: {
    inbound: 'B',
    inboundHow: 'the offset moves after the commit; by webhook (class A) the update is answered after it',
    send: 'blind',
    loss: 'at most one answer part per chat, shown as UNKNOWN',
  },
  async create(options, deps: ChannelDeps) {
    const token = deps.secret(options.token_env);
    const account = TOKEN.exec(token)?.[1];
    if (account === undefined) {
      throw new GatehouseError('GH1101', `${options.token_env} does not hold a Telegram bot token`, {
        hint: 'copy the whole token from @BotFather: digits, a colon, then 35 letters and digits',
      });
    }
    // The SDK is loaded here and not at import time: a daemon without Telegram does not pay for it.
    const [{ TelegramClient }, { TelegramChannel }] = await Promise.all([import('./wire/client.ts'), import('./channel.ts')]);
    const apiRoot = options.api_root.replace(/\/+$/, '');
    return new TelegramChannel({ client: new TelegramClient({ token, apiRoot }), account, token, settings: options, deps });
  },
};
