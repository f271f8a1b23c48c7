import { z } from 'zod';
import { address, downloadTimeout, envName, flag, sendTimeout, uploadTimeout } from '../kit/settings-fields.ts';

/** The settings of a feishu entry in `gateway.channels[]`. */
export const FeishuSettings = z
  .strictObject({
    app_id_env: envName(
      'FEISHU_APP_ID',
      'Environment variable that holds the App ID of the developer console, `cli_` and 16 digits or letters.',
    ),
    app_secret_env: envName('FEISHU_APP_SECRET', 'Environment variable that holds the App Secret.'),
    region: z
      .enum(['cn', 'global'])
      .default('cn')
      .describe('`cn` for Feishu (open.feishu.cn), `global` for Lark (open.larksuite.com).'),
    api_root: address()
      .optional()
      .describe('Address of the Open Platform in place of the one of `region`, for a proxy or a private deployment.'),
    mode: z
      .enum(['ws', 'webhook'])
      .default('ws')
      .describe(
        '`ws` receives over a connection that Gatehouse opens and needs no public address; `webhook` is called at `/hooks/<name>`.',
      ),
    encrypt_key_env: envName(
      'FEISHU_ENCRYPT_KEY',
      'Environment variable that holds the Encrypt Key. Used and required in mode `webhook` only.',
    ),
    verification_token_env: envName(
      'FEISHU_VERIFICATION_TOKEN',
      'Environment variable that holds the Verification Token. Used and required in mode `webhook` only.',
    ),
    streaming_cards: flag(
      true,
      'Show an answer that grows while it is written as a streaming card, which may change as often as it grows. Needs the scope `cardkit:card:write`; people need an app of version 7.20 or later.',
    ),
    send_timeout_secs: sendTimeout(
      'Longest wait for the answer to one call. A message without an answer is sent again under the same key.',
    ),
    upload_timeout_secs: uploadTimeout('The same for the upload of a file.'),
    download_timeout_secs: downloadTimeout(60),
    rate_limits: flag(
      true,
      "Keep below the platform's limits (5 messages/s per chat, shared by all bots of a group; 1000/min in all).",
    ),
  })
  .describe('A bot of Feishu or Lark.');

export type FeishuSettings = z.infer<typeof FeishuSettings>;
