import { z } from 'zod';

/** The settings of a telegram entry in `gateway.channels[]`. */
export const TelegramSettings = z.strictObject({
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

export type TelegramSettings = z.infer<typeof TelegramSettings>;
