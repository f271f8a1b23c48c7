/** The settings of an irc entry in `gateway.channels[]`. Each description becomes a row of the README. */
import { z } from 'zod';
import { environmentName } from '../../src/lib/environment-name.ts';

const NICK = /^[A-Za-z_][\w-]{0,29}$/;
const CHANNEL = /^[#&][^\s,:]{1,49}$/;

export const IrcSettings = z.strictObject({
  host: z.string().min(1).describe('Host name of the server.'),
  port: z.int().min(1).max(65_535).default(6_697).describe('Port of the server.'),
  tls: z.boolean().default(true).describe('false sends everything in clear text, the password included.'),
  nick: z.string().regex(NICK).describe('Nickname of the bot, and the account it logs in to.'),
  password_env: environmentName.optional().describe('Environment variable with the password (SASL). Absent: no login.'),
  server_password_env: environmentName
    .optional()
    .describe('Environment variable with the password of the server itself (PASS), where it has one.'),
  nickserv_password_env: environmentName
    .optional()
    .describe(
      'Environment variable with the password for NickServ, where the network has no SASL. Sent before any channel is joined.',
    ),
  max_lines: z
    .int()
    .min(1)
    .max(50)
    .default(20)
    .describe('Most lines of one answer; the rest is counted. A line takes two seconds, and who writes many is thrown out.'),
  catch_up_hours: z
    .number()
    .min(0)
    .max(168)
    .default(24)
    .describe(
      'How old a message may be that a bouncer or a channel with history shows again, to be answered if it was not. 0 answers none.',
    ),
  channels: z.array(z.string().regex(CHANNEL)).default([]).describe('Channels to join, such as #help.'),
});

export type IrcSettings = z.infer<typeof IrcSettings>;
