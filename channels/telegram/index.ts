import { z } from 'zod';
import type { ChannelDeps, ChannelDescriptor } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';

const settings = z.strictObject({
  token_env: z
    .string()
    .min(1)
    .default('TELEGRAM_BOT_TOKEN')
    .describe('Environment variable that holds the bot token from @BotFather.'),
  api_root: z
    .url({ protocol: /^https?$/ })
    .default('https://api.telegram.org')
    .describe('Address of the Bot API server. Change it only for a Bot API server of your own.'),
  poll_timeout_secs: z
    .int()
    .min(1)
    .max(50)
    .default(50)
    .describe('How long the platform may hold a poll open while there is nothing new.'),
  send_timeout_secs: z
    .int()
    .min(1)
    .max(300)
    .default(30)
    .describe('Longest wait for the answer to one call. A message without an answer counts as unknown and is not sent again.'),
  upload_timeout_secs: z.int().min(1).max(480).default(120).describe('The same for a message that carries a file.'),
  download_timeout_secs: z.int().min(1).max(480).default(30).describe('Longest time to fetch one file that somebody sent.'),
  rate_limits: z
    .boolean()
    .default(true)
    .describe(
      "Keep below the platform's limits (1 message/s per chat, 20/min per group, 30/s in all). Turn off only for an own server.",
    ),
});

export type TelegramSettings = z.infer<typeof settings>;

/** `<bot id>:<secret>`; the id in front is public and immutable, so it serves as the account. */
const TOKEN = /^(\d{1,20}):[A-Za-z0-9_-]{1,255}$/;

export const channel: ChannelDescriptor<TelegramSettings> = {
  type: 'telegram',
  settings,
  async create(options, deps: ChannelDeps) {
    const token = deps.secret(options.token_env);
    const account = TOKEN.exec(token)?.[1];
    if (account === undefined) {
      throw new GatehouseError('GH1101', `${options.token_env} does not hold a Telegram bot token`, {
        hint: 'copy the whole token from @BotFather: digits, a colon, then 35 letters and digits',
      });
    }
    // The SDK is loaded here and not at import time: a daemon without Telegram does not pay for it.
    const [{ TelegramClient }, { TelegramChannel }] = await Promise.all([import('./client.ts'), import('./channel.ts')]);
    const apiRoot = options.api_root.replace(/\/+$/, '');
    return new TelegramChannel({ client: new TelegramClient({ token, apiRoot }), account, settings: options, deps });
  },
};
