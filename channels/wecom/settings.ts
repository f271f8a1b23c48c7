import { z } from 'zod';

/** The settings of a wecom entry in `gateway.channels[]`. */
export const WecomSettings = z.strictObject({
  corp_id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be the Company ID, which begins with ww')
    .optional()
    .describe('Company ID, "My Company" in the admin console. It is no secret, and part of every message id in the log.'),
  corp_id_env: z
    .string()
    .min(1)
    .default('WECOM_CORP_ID')
    .describe('Environment variable that holds the Company ID where `corp_id` is not set; the log then masks it like a secret.'),
  agent_id: z.int().min(1).describe('AgentId of the self-built application, on its page in the admin console.'),
  agent_secret_env: z
    .string()
    .min(1)
    .default('WECOM_AGENT_SECRET')
    .describe('Environment variable that holds the Secret of the application.'),
  verification_token_env: z
    .string()
    .min(1)
    .default('WECOM_TOKEN')
    .describe('Environment variable that holds the Token of "Receive messages": callbacks are signed with it.'),
  encoding_aes_key_env: z
    .string()
    .min(1)
    .default('WECOM_ENCODING_AES_KEY')
    .describe('Environment variable that holds the EncodingAESKey of "Receive messages", 43 letters and digits.'),
  api_root: z
    .url({ protocol: /^https?$/ })
    .default('https://qyapi.weixin.qq.com')
    .describe('Address of the WeCom API. Change it for a proxy with a fixed address, or for a private WeCom.'),
  markdown: z
    .boolean()
    .default(true)
    .describe('Send formatted answers as Markdown messages. Turn off for people who read in WeChat, which does not show those.'),
  duplicate_check: z
    .boolean()
    .default(true)
    .describe(
      'Have the platform drop a message it got already, so that a message without an answer can be sent again. Off: such a message counts as unknown.',
    ),
  send_timeout_secs: z.int().min(1).max(300).default(30).describe('Longest wait for the answer to one message.'),
  upload_timeout_secs: z.int().min(1).max(480).default(120).describe('The same for a message that carries a file.'),
  download_timeout_secs: z.int().min(1).max(480).default(30).describe('Longest time to fetch one file that somebody sent.'),
  rate_limits: z
    .boolean()
    .default(true)
    .describe(
      "Keep below the platform's limits per member (30 messages/min, 1000/h): it drops what is more without saying so. Turn off only for an own server.",
    ),
});

export type WecomSettings = z.infer<typeof WecomSettings>;
