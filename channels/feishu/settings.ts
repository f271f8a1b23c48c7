import { z } from 'zod';

/** The settings of a feishu entry in `gateway.channels[]`. */
export const FeishuSettings = z
  .strictObject({
    app_id_env: z
      .string()
      .min(1)
      .default('FEISHU_APP_ID')
      .describe('Environment variable that holds the App ID of the developer console, `cli_` and 16 digits or letters.'),
    app_secret_env: z.string().min(1).default('FEISHU_APP_SECRET').describe('Environment variable that holds the App Secret.'),
    region: z
      .enum(['cn', 'global'])
      .default('cn')
      .describe('`cn` for Feishu (open.feishu.cn), `global` for Lark (open.larksuite.com).'),
    api_root: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('Address of the Open Platform in place of the one of `region`, for a proxy or a private deployment.'),
    mode: z
      .enum(['ws', 'webhook'])
      .default('ws')
      .describe(
        '`ws` receives over a connection that Gatehouse opens and needs no public address; `webhook` is called at `/hooks/<name>`.',
      ),
    encrypt_key_env: z
      .string()
      .min(1)
      .default('FEISHU_ENCRYPT_KEY')
      .describe('Environment variable that holds the Encrypt Key. Used and required in mode `webhook` only.'),
    verification_token_env: z
      .string()
      .min(1)
      .default('FEISHU_VERIFICATION_TOKEN')
      .describe('Environment variable that holds the Verification Token. Used and required in mode `webhook` only.'),
    send_timeout_secs: z
      .int()
      .min(1)
      .max(300)
      .default(30)
      .describe('Longest wait for the answer to one call. A message without an answer is sent again under the same key.'),
    upload_timeout_secs: z.int().min(1).max(480).default(120).describe('The same for the upload of a file.'),
    download_timeout_secs: z.int().min(1).max(480).default(60).describe('Longest time to fetch one file that somebody sent.'),
    rate_limits: z
      .boolean()
      .default(true)
      .describe("Keep below the platform's limits (5 messages/s per chat, shared by all bots of a group; 1000/min in all)."),
  })
  .describe('A bot of Feishu or Lark.');

export type FeishuSettings = z.infer<typeof FeishuSettings>;
