import { z } from 'zod';
import { environmentName } from '../../src/lib/environment-name.ts';
import { envName, flag, wholeNumber } from '../kit/settings-fields.ts';
import { KNOWN_ISSUERS } from './wire/issuers.ts';

const TLS = z.enum(['implicit', 'starttls', 'none']);

/**
 * RFC 5321 addresses in the form people use: no quoted local part, no address literal, nothing invisible. One
 * address is always one.
 */
export const MAIL_ADDRESS =
  /^[^\s\p{C}@<>()[\]\\,;:"]{1,64}@(?=.{1,253}$)(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)*[\p{L}\p{N}][\p{L}\p{N}-]*$/u;

const MEBIBYTE = 1024 * 1024;

/** RFC 6749 section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

const OAuth = z
  .strictObject({
    tenant: z
      .string()
      .regex(/^[A-Za-z0-9.-]{1,255}$/, 'must be a directory (tenant) ID or a domain')
      .optional()
      .describe('For Microsoft 365: the directory (tenant) ID or domain'),
    issuer: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('For any other OpenID provider: the address of its issuer, with https, e.g. `https://accounts.google.com`'),
    client_id: z.string().min(1).max(255).describe('The application (client) ID that the provider gave to this installation'),
    client_secret_env: environmentName
      .optional()
      .describe('Environment variable with the client secret, where the provider gave one (Google does)'),
    username: z.string().min(1).max(320).optional().describe('Login name at the mail servers. Default: `from_address`'),
    scopes: z
      .array(z.string().regex(SCOPE, 'must be one scope'))
      .min(1)
      .optional()
      .describe('What is asked for. Default: IMAP, SMTP and a refresh token, for Microsoft 365 and Google'),
    login: z
      .enum(['device', 'browser'])
      .default('device')
      .describe('`device`: by a code that is entered on any device; `browser`: in a browser on this machine'),
    redirect_port: wholeNumber(
      0,
      65535,
      0,
      'With `browser`: the port of 127.0.0.1 where the browser comes back to; 0 = any free one',
    ),
  })
  .refine(({ tenant, issuer }) => (tenant === undefined) !== (issuer === undefined), {
    path: ['tenant'],
    error: 'set either `tenant` (Microsoft 365) or `issuer` (any other provider)',
  })
  .refine(({ issuer, scopes }) => issuer === undefined || scopes !== undefined || Object.hasOwn(KNOWN_ISSUERS, issuer), {
    path: ['scopes'],
    error: 'set the scopes that this provider has for IMAP and SMTP',
  })
  .describe('Log in by OAuth2 instead of a password, once, with `gatehouse channels login`');

export const EmailSettings = z
  .strictObject({
    imap_host: z.string().min(1).describe('Host name of the IMAP server'),
    imap_port: wholeNumber(1, 65535, 993, 'Port of the IMAP server'),
    imap_tls: TLS.default('implicit').describe('How IMAP is encrypted; `none` sends the password in clear text'),
    smtp_host: z.string().min(1).describe('Host name of the SMTP submission server'),
    smtp_port: wholeNumber(1, 65535, 465, 'Port of the SMTP submission server'),
    smtp_tls: TLS.optional().describe(
      'How SMTP is encrypted; default `implicit` on port 465, else `starttls`, which is then required',
    ),
    tls_ca_file: z.string().min(1).optional().describe('PEM file of the certificate authority, for servers with a private one'),
    tls_reject_unauthorized: flag(
      true,
      'false accepts any certificate: a machine in between can then read the mail and the password',
    ),
    username_env: envName('EMAIL_USERNAME', 'Environment variable with the login name'),
    password_env: envName('EMAIL_PASSWORD', 'Environment variable with the password'),
    oauth: OAuth.optional(),
    from_address: z
      .string()
      .regex(MAIL_ADDRESS, 'must be a bare e-mail address')
      .describe('The address people write to; answers come from it'),
    from_name: z.string().max(200).default('').describe('Display name on answers'),
    mailbox: z.string().min(1).default('INBOX').describe('Folder that is read'),
    sent_mailbox: z
      .string()
      .min(1)
      .optional()
      .describe(
        'Folder in which the mail server itself files what is sent over SMTP (as Gmail does); answers are looked up there',
      ),
    bcc_self: z
      .boolean()
      .optional()
      .describe(
        'Send a blind copy of each answer to `from_address`: the proof, after a crash, that it was sent. Default: true unless `sent_mailbox` is set',
      ),
    find_grace_secs: wholeNumber(
      0,
      3600,
      30,
      'After a crash, how long to look for the copy of an answer before it is taken for not sent',
    ),
    authserv_id: z
      .string()
      .min(1)
      .optional()
      .describe(
        'First word of the Authentication-Results header your mail server adds, e.g. `mx.google.com`; other results are not believed',
      ),
    trust_from: flag(
      false,
      'true believes the From header of every mail: anybody can then write as anybody. Only for servers that refuse forged mail',
    ),
    mark_seen: flag(true, 'Mark mail as read once it is safely stored'),
    poll_interval_secs: wholeNumber(1, 1500, 30, 'How often to look for mail besides the notices of the server (IMAP IDLE)'),
    max_body_chars: z.int().min(100).default(10_000).describe('Longer bodies are cut, with a note'),
    max_message_bytes: z
      .int()
      .min(1024)
      .default(25 * MEBIBYTE)
      .describe('Larger mail is refused without fetching it'),
    max_attachment_bytes: z
      .int()
      .min(0)
      .default(20 * MEBIBYTE)
      .describe('Larger attachments are not fetched; the agent is told'),
    max_replies_per_thread_per_hour: z
      .int()
      .min(1)
      .default(10)
      .describe(
        'How many mails that come within 20 seconds of an answer in their thread are answered in an hour: ends a loop with another machine',
      ),
    max_replies_per_sender_per_hour: z
      .int()
      .min(1)
      .default(60)
      .describe(
        'How many mails of one sender are answered in an hour, all of them counted: ends a loop that is slow, or starts a new thread each time',
      ),
  })
  .refine((settings) => settings.trust_from || settings.authserv_id !== undefined, {
    path: ['authserv_id'],
    error:
      'set `authserv_id` to the name your mail server puts first in Authentication-Results, or `trust_from: true` to believe every From',
  });

export type EmailSettings = z.infer<typeof EmailSettings>;
