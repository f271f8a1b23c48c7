import { z } from 'zod';
import { apiRoot, downloadTimeout, envName, flag, sendTimeout, uploadTimeout, wholeNumber } from '../kit/settings-fields.ts';

/** The settings of a slack entry in `gateway.channels[]`. */
export const SlackSettings = z.strictObject({
  mode: z
    .enum(['socket', 'http'])
    .default('socket')
    .describe('How events arrive: `socket` needs no public address, `http` needs one that leads to the webhook server.'),
  bot_token_env: envName(
    'SLACK_BOT_TOKEN',
    'Environment variable with the bot token, `xoxb-…` (page "OAuth & Permissions" of the app).',
  ),
  app_token_env: envName(
    'SLACK_APP_TOKEN',
    'Environment variable with the app-level token, `xapp-…`, with the scope connections:write. Mode `socket` only.',
  ),
  signing_secret_env: envName(
    'SLACK_SIGNING_SECRET',
    'Environment variable with the signing secret (page "Basic Information" of the app). Mode `http` only.',
  ),
  api_root: apiRoot(
    'https://slack.com/api',
    'Address of the Web API. Change it only for a proxy of your own; files may then come from its host too.',
  ),
  reply_in_thread: flag(
    true,
    'In channels, answer in a thread under the message; each thread is a conversation of its own. false answers in the channel.',
  ),
  direct_threads: flag(
    false,
    'In direct conversations, too, answer in a thread under the message; each thread is a conversation of its own. For apps with `agent_view`, which shows them as a list.',
  ),
  follow_threads: flag(
    true,
    'In a thread the bot started, or is one of the 100 it wrote in last, count every reply as addressed to it. false asks for a mention.',
  ),
  allowed_bots: z
    .array(z.string().regex(/^[ABU][A-Z0-9]{2,20}$/))
    .default([])
    .describe(
      'Other apps and workflows that may call the agent in channels, by the id of the bot (B…), the app (A…) or its user (U…). Write the same id, in the same form, into `allowed_senders` too.',
    ),
  suggested_prompts: z
    .array(
      z.strictObject({
        title: z.string().min(1).describe('What the person sees.'),
        message: z.string().min(1).describe('What they say by choosing it.'),
      }),
    )
    .max(4)
    .default([])
    .describe(
      'What the AI pane suggests when a person opens it: up to 4 of `{ "title", "message" }`. Needs the feature "Agents & AI Apps".',
    ),
  catch_up_hours: wholeNumber(
    0,
    168,
    24,
    'After an outage, fetch what was written meanwhile, but nothing older than this. 0 fetches nothing: messages are lost.',
  ),
  send_timeout_secs: sendTimeout('Longest wait for the answer to one call.'),
  upload_timeout_secs: uploadTimeout('The same for a message with a file, all its steps together.'),
  download_timeout_secs: downloadTimeout(30),
  rate_limits: flag(true, "Keep below the platform's limit of about one message a second in a conversation."),
});

export type SlackSettings = z.infer<typeof SlackSettings>;
