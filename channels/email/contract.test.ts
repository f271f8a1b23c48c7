/** Against a real dovecot and postfix, one pair for the file: each case has its own two people and its own bot. */

import { afterAll, beforeAll, describe } from 'vitest';
import type { ChannelHost } from '../../src/core/channel.ts';
import { BUSY_RECIPIENT } from '../../src/simulator/email/config.ts';
import { type MailProxy, startMailProxy } from '../../src/simulator/email/proxy.ts';
import { MAIL_PASSWORD, type MailServers, mailServersMissing, startMailServers } from '../../src/simulator/email/servers.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { quickClock } from '../../src/testing/channel-host.ts';
import type { ChannelSetup } from '../../src/testing/channel-stage.ts';
import { MemoryLogger, outbound, until } from '../../src/testing/fakes.ts';
import { channelContract } from '../contract.ts';
import { parseCursor } from './in/cursor.ts';
import { parseMail } from './in/mime.ts';
import { channel as descriptor } from './index.ts';

const missing = mailServersMissing();
if (missing !== undefined) {
  if (process.env['CI']) throw new Error(`the mail servers are missing: ${missing}`);
  process.stderr.write(`channels/email/contract.test.ts skipped: ${missing}\n`);
}

const MAX_ATTACHMENT = 64 * 1024;
const CASES = Array.from({ length: 40 }, (_, index) => index);
let servers: MailServers;
let nextCase = 0;

async function setup(): Promise<ChannelSetup> {
  const number = nextCase++;
  const [bot, ada, other] = [`bot${number}`, `ada${number}`, `other${number}`];
  const [imap, smtp] = await Promise.all([startMailProxy(servers.imapPort), startMailProxy(servers.smtpPort)]);
  const create = (password: string) =>
    descriptor.create(
      descriptor.settings.parse({
        ...{ imap_host: servers.host, imap_port: imap.port, imap_tls: 'none' },
        ...{ smtp_host: servers.host, smtp_port: smtp.port, smtp_tls: 'none' },
        ...{ from_address: `${bot}@example.test`, authserv_id: 'mx.example.test', max_attachment_bytes: MAX_ATTACHMENT },
      }),
      {
        ...channelDeps(),
        name: 'email',
        secret: (variable) => (variable === 'EMAIL_USERNAME' ? `${bot}@example.test` : password),
        ...{ clock: quickClock(), logger: new MemoryLogger(), random: Math.random },
      },
    );
  let ids = 0;
  return {
    people: [`${ada}@example.test`, `${other}@example.test`],
    create: () => create(MAIL_PASSWORD),
    createRefused: () => create('revoked'),
    async deliver({ text, senderId, senderName, file }) {
      ids += 1;
      const head = [
        'Authentication-Results: mx.example.test; dmarc=pass header.from=example.test',
        `From: ${senderName} <${senderId}>`,
        `Message-ID: <case${number}.${ids}@example.test>`,
      ];
      await servers.deliver([...head, ...(file ? withFile(text, file) : ['', text])].join('\n'), bot);
    },
    seen: () => readSeen(ada),
    unacknowledged: (host) => unacknowledged(bot, host),
    connections: async () => imap.connections + smtp.connections,
    part: (override) =>
      outbound({ channel: 'email', account: `${bot}@example.test`, chatId: `${ada}@example.test`, ...override }),
    async limitNextSend() {
      smtp.replaceNext(/RCPT TO:<[^>]+>/, `RCPT TO:<${BUSY_RECIPIENT}>`);
      return {}; // SMTP has no way to say how long (RFC 5321 section 4.2)
    },
    loseNextReply: async () => smtp.cutNextReplyTo('\r\n.\r\n'),
    refuseNextSend: async () => smtp.replaceNext(/RCPT TO:<[^>]+>/, 'RCPT TO:<nobody@example.test>'),
    goDown: () => stopAll(imap, smtp),
    [Symbol.asyncDispose]: () => stopAll(imap, smtp),
  };
}

async function stopAll(...proxies: readonly MailProxy[]): Promise<void> {
  await Promise.all(proxies.map((proxy) => proxy[Symbol.asyncDispose]()));
}

function withFile(text: string, file: { readonly name: string; readonly bytes: Buffer }): string[] {
  const base64 = file.bytes.toString('base64').replace(/.{76}/g, '$&\n');
  const fields = [`Content-Disposition: attachment; filename=${file.name}`, 'Content-Transfer-Encoding: base64'];
  return [
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    '',
    text,
    '--b',
    ...fields,
    '',
    base64,
    '--b--',
  ];
}

/** Postfix answers before it delivers: what is queued is waited for, so that a second copy cannot be missed. */
async function readSeen(user: string) {
  await until('postfix delivered everything', async () => (await servers.queued()) === 0);
  const mails = await Promise.all((await servers.mailbox(user)).map(({ raw }) => parseMail(Buffer.from(raw, 'latin1'))));
  return mails.map(({ text, attachments: [file] }) => ({
    text: (text ?? '').replace(/\n$/, ''),
    ...(file?.name !== undefined && { fileName: file.name }),
  }));
}

/** What the cursor does not cover. A mail marked as read before that would be one a person no longer notices, and nobody answers. */
async function unacknowledged(user: string, host: Pick<ChannelHost, 'cursor'>): Promise<number> {
  const query = ['-f', 'tab', 'fetch', '-u', `${user}@example.test`, 'uid flags', 'mailbox', 'INBOX', 'all'];
  const rows = (await servers.doveadm(...query)).trim().split('\n').slice(1);
  // Asked after the flags: whatever was marked by then must lie below it.
  const handled = parseCursor((await host.cursor()) ?? '')?.uid;
  if (handled === undefined) throw new Error('no cursor was committed');
  const waiting = rows.map((row) => row.split('\t')).filter(([uid]) => Number(uid) > handled);
  if (waiting.some(([, flags]) => flags?.includes('\\Seen'))) throw new Error('a mail was marked as read before it was accepted');
  return waiting.length;
}

describe.skipIf(missing !== undefined)('against dovecot and postfix', () => {
  beforeAll(async () => {
    servers = await startMailServers({ users: CASES.flatMap((number) => [`bot${number}`, `ada${number}`, `other${number}`]) });
  });
  afterAll(() => servers?.stop());
  channelContract('email', setup);
});
