import { z } from 'zod';
import {
  address,
  apiRoot,
  downloadTimeout,
  envName,
  flag,
  sendTimeout,
  uploadTimeout,
  wholeNumber,
} from '../kit/settings-fields.ts';

/** The settings of a telegram entry in `gateway.channels[]`. */
export const TelegramSettings = z
  .strictObject({
    token_env: envName('TELEGRAM_BOT_TOKEN', 'Environment variable that holds the bot token from @BotFather.'),
    api_root: apiRoot(
      'https://api.telegram.org',
      'Address of the Bot API server. Change it only for a Bot API server of your own.',
    ),
    mode: z
      .enum(['poll', 'webhook'])
      .default('poll')
      .describe(
        'How messages arrive: `poll` needs no public address; `webhook` needs one that leads to the webhook server, and each picture of an album is then a message of its own.',
      ),
    public_url: address()
      .regex(/^https?:\/\/[^/?#@]+\/?$/, { error: 'must be an origin, such as https://bot.example.org' })
      .optional()
      .describe(
        'Origin under which Telegram reaches the webhook server: port 443, 80, 88 or 8443. Mode `webhook` only, and needed there.',
      ),
    poll_timeout_secs: wholeNumber(1, 50, 50, 'How long the platform may hold a poll open while there is nothing new.'),
    send_timeout_secs: sendTimeout(
      'Longest wait for the answer to one call. A message without an answer counts as unknown and is not sent again.',
    ),
    upload_timeout_secs: uploadTimeout(
      'The same for a message that carries a file. One of which not all had left is sent again.',
    ),
    download_timeout_secs: downloadTimeout(30),
    command_menu: flag(
      true,
      'Offer the commands of the agent in the command menu of Telegram, unless you put commands of your own there.',
    ),
    rate_limits: flag(
      true,
      "Keep below the platform's limits (1 message/s per chat, 20/min per group, 30/s in all). Turn off only for an own server.",
    ),
  })
  .refine(({ mode, public_url }) => mode === 'poll' || public_url !== undefined, {
    path: ['public_url'],
    error: 'mode "webhook" needs the address under which Telegram reaches this machine, such as https://bot.example.org',
  });

export type TelegramSettings = z.infer<typeof TelegramSettings>;
