import { z } from 'zod';
import { address, apiRoot, downloadTimeout, envName, flag, wholeNumber } from '../kit/settings-fields.ts';

/** The settings of a discord entry in `gateway.channels[]`. */
export const DiscordSettings = z.strictObject({
  token_env: envName('DISCORD_BOT_TOKEN', 'Environment variable that holds the bot token from the developer portal.'),
  api_root: apiRoot(
    'https://discord.com/api',
    'Address of the REST API, without the version. Change it only for a proxy of your own.',
  ),
  cdn_origins: z
    .array(address())
    .min(1)
    .default(['https://cdn.discordapp.com', 'https://media.discordapp.net'])
    .describe(
      'Where files that people sent may be fetched from; nothing else is ever asked. Change it only for a proxy of your own.',
    ),
  message_content: flag(
    true,
    'Ask for the Message Content intent. Without it only private chats and messages that mention the bot have a text.',
  ),
  mention_roles: flag(false, "Whether a mention of the bot's own role addresses the bot, as a mention of its name does."),
  mention_everyone: flag(false, 'Whether @everyone and @here address the bot.'),
  follow_threads: flag(
    true,
    'In a thread the bot started, or is one of the 100 it wrote in last, count what is said to nobody else as addressed to it. false asks for a mention.',
  ),
  auto_threads: flag(
    false,
    'Open a thread of the message that calls the agent in a channel of a server, and answer there. Each message is then a conversation of its own.',
  ),
  auto_archive_duration: z
    .literal([60, 1_440, 4_320, 10_080])
    .default(1_440)
    .describe('Minutes without a message after which Discord hides a thread that was opened so: 60, 1440, 4320 or 10080.'),
  slash_commands: flag(true, 'Offer the commands of the agent in the command menu of Discord.'),
  catch_up_hours: z
    .number()
    .min(0)
    .max(168)
    .default(24)
    .describe('How far back messages are fetched that were written while the daemon was not connected. 0 fetches none.'),
  send_timeout_secs: wholeNumber(
    1,
    50,
    30,
    'Longest wait for the answer to one call; the platform knows a key for two minutes. A message without an answer is sent again under the same key.',
  ),
  upload_timeout_secs: wholeNumber(1, 50, 50, 'The same for a message that carries a file.'),
  download_timeout_secs: downloadTimeout(30),
  rate_limits: flag(
    true,
    "Keep below the platform's limits (5 messages in 5 s per chat, 50 calls/s in all). Turn off only for an own server.",
  ),
});
export type DiscordSettings = z.infer<typeof DiscordSettings>;
