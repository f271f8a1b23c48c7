import { z } from 'zod';
import { apiRoot, downloadTimeout, envName, flag, sendTimeout, uploadTimeout } from '../kit/settings-fields.ts';

/** The settings of a wecom entry in `gateway.channels[]`. */
export const WecomSettings = z.strictObject({
  corp_id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be the Company ID, which begins with ww')
    .optional()
    .describe('Company ID, "My Company" in the admin console. It is no secret, and part of every message id in the log.'),
  corp_id_env: envName(
    'WECOM_CORP_ID',
    'Environment variable that holds the Company ID where `corp_id` is not set; the log then masks it like a secret.',
  ),
  agent_id: z.int().min(1).describe('AgentId of the self-built application, on its page in the admin console.'),
  agent_secret_env: envName('WECOM_AGENT_SECRET', 'Environment variable that holds the Secret of the application.'),
  verification_token_env: envName(
    'WECOM_TOKEN',
    'Environment variable that holds the Token of "Receive messages": callbacks are signed with it.',
  ),
  encoding_aes_key_env: envName(
    'WECOM_ENCODING_AES_KEY',
    'Environment variable that holds the EncodingAESKey of "Receive messages", 43 letters and digits.',
  ),
  api_root: apiRoot(
    'https://qyapi.weixin.qq.com',
    'Address of the WeCom API. Change it for a proxy with a fixed address, or for a private WeCom.',
  ),
  markdown: flag(
    true,
    'Send formatted answers as Markdown messages. Turn off for people who read in WeChat, which does not show those.',
  ),
  duplicate_check: flag(
    true,
    'Have the platform drop a message it got already, so that a message without an answer can be sent again. Off: such a message counts as unknown.',
  ),
  send_timeout_secs: sendTimeout('Longest wait for the answer to one message.'),
  upload_timeout_secs: uploadTimeout(),
  download_timeout_secs: downloadTimeout(30),
  rate_limits: flag(
    true,
    "Keep below the platform's limits per member (30 messages/min, 1000/h): it drops what is more without saying so. Turn off only for an own server.",
  ),
});

export type WecomSettings = z.infer<typeof WecomSettings>;
