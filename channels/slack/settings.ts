import { z } from 'zod';

/** The settings of a slack entry in `gateway.channels[]`. */
export const SlackSettings = z.strictObject({
  mode: z
    .enum(['socket', 'http'])
    .default('socket')
    .describe('How events arrive: `socket` needs no public address, `http` needs one that leads to the webhook server.'),
  bot_token_env: z
    .string()
    .min(1)
    .default('SLACK_BOT_TOKEN')
    .describe('Environment variable with the bot token, `xoxb-…` (page "OAuth & Permissions" of the app).'),
  app_token_env: z
    .string()
    .min(1)
    .default('SLACK_APP_TOKEN')
    .describe('Environment variable with the app-level token, `xapp-…`, with the scope connections:write. Mode `socket` only.'),
  signing_secret_env: z
    .string()
    .min(1)
    .default('SLACK_SIGNING_SECRET')
    .describe('Environment variable with the signing secret (page "Basic Information" of the app). Mode `http` only.'),
  api_root: z
    .url({ protocol: /^https?$/ })
    .default('https://slack.com/api')
    .describe('Address of the Web API. Change it only for a proxy of your own; files may then come from its host too.'),
  reply_in_thread: z
    .boolean()
    .default(true)
    .describe(
      'In channels, answer in a thread under the message; each thread is a conversation of its own. false answers in the channel.',
    ),
  follow_threads: z
    .boolean()
    .default(true)
    .describe(
      'In a thread the bot started, or is one of the 100 it wrote in last, count every reply as addressed to it. false asks for a mention.',
    ),
  catch_up_hours: z
    .int()
    .min(0)
    .max(168)
    .default(24)
    .describe(
      'After an outage, fetch what was written meanwhile, but nothing older than this. 0 fetches nothing: messages are lost.',
    ),
  send_timeout_secs: z.int().min(1).max(300).default(30).describe('Longest wait for the answer to one call.'),
  upload_timeout_secs: z
    .int()
    .min(1)
    .max(480)
    .default(120)
    .describe('The same for a message with a file, all its steps together.'),
  download_timeout_secs: z.int().min(1).max(480).default(30).describe('Longest time to fetch one file that somebody sent.'),
  rate_limits: z
    .boolean()
    .default(true)
    .describe("Keep below the platform's limit of about one message a second in a conversation."),
});

export type SlackSettings = z.infer<typeof SlackSettings>;
