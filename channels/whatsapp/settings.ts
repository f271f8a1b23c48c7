import { z } from 'zod';
import { apiRoot, downloadTimeout, flag, sendTimeout, uploadTimeout } from '../kit/settings-fields.ts';

/** A whatsapp entry in `gateway.channels[]`. It has no secret: `channels login` makes the login. */
export const WhatsAppSettings = z.strictObject({
  web_socket_url: z
    .url({ protocol: /^wss?$/ })
    .default('wss://web.whatsapp.com/ws/chat')
    .describe('Address of the WhatsApp Web socket. Change it only for a proxy of your own.'),
  media_root: apiRoot(
    'https://mmg.whatsapp.net',
    'Where files are fetched and stored. Files are taken from nowhere else, whatever a message names.',
  ),
  pairing_phone: z
    .string()
    .regex(/^\+?[1-9]\d{6,14}$/)
    .optional()
    .describe(
      'Phone number of the account, with country code. When set, `channels login` shows a code to type instead of a QR code.',
    ),
  client_version: z
    .string()
    .regex(/^\d+\.\d+\.\d+$/)
    .optional()
    .describe('Version of WhatsApp Web to name, such as 2.3000.1043857760. Set it when the platform refuses the built-in one.'),
  self_chat: flag(
    false,
    'The account is your own: what you write to yourself ("Message yourself") is a question to the agent, and you are its operator there. Of other people nothing is taken unless `allowed_senders` or `allowed_groups` name them; none is offered a pairing code.',
  ),
  require_encryption: flag(
    true,
    'Refuse messages that the server delivers without end-to-end encryption: without it the operator of the server could write in any name.',
  ),
  send_timeout_secs: sendTimeout(
    'Longest wait until the server confirms a message. One without confirmation is sent again under the same id.',
  ),
  upload_timeout_secs: uploadTimeout(),
  download_timeout_secs: downloadTimeout(60),
  rate_limits: flag(
    true,
    'Send slowly (a message every two seconds per chat, one a second in all): accounts that send in bursts get banned.',
  ),
});

export type WhatsAppSettings = z.infer<typeof WhatsAppSettings>;
