import { z } from 'zod';
import { address, downloadTimeout, envName, flag, sendTimeout, wholeNumber } from '../kit/settings-fields.ts';

/** Addresses as people enter them: no credentials in them, since they are shown, logged and sent. */
const shownAddress = address().refine((value) => !/^https?:\/\/[^/]*@/i.test(value), {
  error: 'must not hold a user name or password',
});

/** The settings of a twilio entry in `gateway.channels[]`. */
export const TwilioSettings = z.strictObject({
  account_sid_env: envName('TWILIO_ACCOUNT_SID', 'Environment variable that holds the account SID: AC and 32 hex digits.'),
  auth_token_env: envName(
    'TWILIO_AUTH_TOKEN',
    "Environment variable that holds the account's auth token. It signs webhooks, so an API key cannot take its place.",
  ),
  from_number: z
    .string()
    .regex(/^(?:\+[1-9]\d{6,14}|\d{3,8})$/, 'must be a number like +15551234567, or a short code')
    .describe('The number people write to, in E.164 form, or a short code. Answers come from it.'),
  public_url: shownAddress
    .refine((value) => !value.includes('?'), { error: 'must have no query' })
    .optional()
    .describe(
      'Address at which Twilio reaches the webhook of this channel, exactly as entered in its console: signatures are made over it. Without it messages are only polled for, and pictures cannot be sent.',
    ),
  poll_interval_secs: wholeNumber(5, 3_600, 60, 'How often the list of messages is read for those whose webhook did not arrive.'),
  api_root: shownAddress
    .default('https://api.twilio.com')
    .describe('Address of the REST API. Change it for a regional edge or a proxy of your own.'),
  media_hosts: z
    .array(z.string().min(1))
    .default([])
    .describe("Further hosts that the redirect of a file may lead to, besides Twilio's own. Only for a proxy of your own."),
  send_timeout_secs: sendTimeout(
    'Longest wait for the answer to one call. A message without an answer is then looked for in the list.',
  ),
  find_grace_secs: wholeNumber(
    0,
    25,
    10,
    'How long to look for a message whose fate is unknown before it is taken for not sent.',
  ),
  download_timeout_secs: downloadTimeout(60),
  messages_per_second: z
    .number()
    .min(0.1)
    .max(1_000)
    .default(1)
    .describe('What the number may send: 1 for a long code, 3 for toll-free, 100 for a short code.'),
  max_messages_per_answer: wholeNumber(
    1,
    50,
    4,
    'Messages of up to 1530 characters that one answer may take; a last one then says how much was left out. Each has up to ten segments, and in other alphabets up to 23, that are billed.',
  ),
  max_per_sender_per_minute: z
    .int()
    .min(1)
    .default(30)
    .describe('Messages of one sender beyond this are refused and counted: ends a loop with another machine.'),
  max_per_minute: z.int().min(1).default(300).describe('Messages of all senders together beyond this wait for the next minute.'),
  answer_opt_out_words: flag(
    false,
    'true gives STOP, START, HELP and the like to the agent. Twilio answers them itself unless that was turned off or the number is a short code.',
  ),
});

export type TwilioSettings = z.infer<typeof TwilioSettings>;
