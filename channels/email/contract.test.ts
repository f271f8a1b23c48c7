/**
 * Against a real dovecot and postfix, one pair for the file: each case has its own two people and its own
 * bot. Then against an IMAP server that has no extension at all.
 */

import { afterAll, beforeAll, describe } from 'vitest';
import type { ChannelHost } from '../../src/core/channel.ts';
import { BUSY_RECIPIENT } from '../../src/simulator/email/config.ts';
import { type MailProxy, startMailProxy } from '../../src/simulator/email/proxy.ts';
import { MAIL_PASSWORD, type MailServers, mailServersMissing, startMailServers } from '../../src/simulator/email/servers.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { quickClock } from '../../src/testing/channel-host.ts';
import type { ChannelSetup } from '../../src/testing/channel-stage.ts';
import { startPlainServers } from '../../src/testing/email/plain-servers.ts';
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

/** The servers of one case. */
interface Place extends AsyncDisposable {
  readonly imapPort: number;
  readonly smtpPort: number;
  deliver(raw: string): Promise<void> | void;
  /** What a person has, oldest first; once everything that was sent has arrived. */
  mailbox(user: string): Promise<readonly string[]>;
  /** Of the bot's mails. */
  flags(): Promise<readonly { readonly uid: number; readonly seen: boolean }[]>;
}

function realPlace(bot: string): Place {
  return {
    imapPort: servers.imapPort,
    smtpPort: servers.smtpPort,
    deliver: (raw) => servers.deliver(raw, bot),
    async mailbox(user) {
      // Postfix answers before it delivers: what is queued is waited for, so that a second copy cannot be
      // missed.
      await until('postfix delivered everything', async () => (await servers.queued()) === 0);
      return (await servers.mailbox(user)).map(({ raw }) => raw);
    },
    async flags() {
      const query = ['-f', 'tab', 'fetch', '-u', `${bot}@example.test`, 'uid flags', 'mailbox', 'INBOX', 'all'];
      const rows = (await servers.doveadm(...query)).trim().split('\n').slice(1);
      return rows
        .map((row) => row.split('\t'))
        .map(([uid, flags]) => ({ uid: Number(uid), seen: flags?.includes('\\Seen') ?? false }));
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function plainPlace(bot: string): Promise<Place> {
  const plain = await startPlainServers({ owner: `${bot}@example.test`, password: MAIL_PASSWORD });
  return {
    imapPort: plain.imapPort,
    smtpPort: plain.smtpPort,
    deliver: (raw) => plain.deliver(raw),
    mailbox: async (user) => plain.sent.filter(({ to }) => to === `${user}@example.test`).map(({ raw }) => raw),
    flags: async () => plain.imap.getMailbox('INBOX').messages.map(({ uid, flags }) => ({ uid, seen: flags.includes('\\Seen') })),
    [Symbol.asyncDispose]: () => plain[Symbol.asyncDispose](),
  };
}

async function setup(open: (bot: string) => Place | Promise<Place>): Promise<ChannelSetup> {
  const number = nextCase++;
  const [bot, ada, other] = [`bot${number}`, `ada${number}`, `other${number}`];
  const place = await open(bot);
  const [imap, smtp] = await Promise.all([startMailProxy(place.imapPort), startMailProxy(place.smtpPort)]);
  const create = (password: string) =>
    descriptor.create(
      descriptor.settings.parse({
        ...{ imap_host: '127.0.0.1', imap_port: imap.port, imap_tls: 'none' },
        ...{ smtp_host: '127.0.0.1', smtp_port: smtp.port, smtp_tls: 'none' },
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
      await place.deliver([...head, ...(file ? withFile(text, file) : ['', text])].join('\n'));
    },
    seen: () => readSeen(place, ada),
    unacknowledged: (host) => unacknowledged(place, host),
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
    async [Symbol.asyncDispose]() {
      await stopAll(imap, smtp);
      await place[Symbol.asyncDispose]();
    },
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

async function readSeen(place: Place, user: string) {
  const mails = await Promise.all((await place.mailbox(user)).map((raw) => parseMail(Buffer.from(raw, 'latin1'))));
  return mails.map(({ text, attachments: [file] }) => ({
    text: (text ?? '').replace(/\n$/, ''),
    ...(file?.name !== undefined && { fileName: file.name }),
  }));
}

/**
 * Mails that the cursor does not cover. One of them marked as read would no longer be noticed by a person,
 * and stay without an answer.
 */
async function unacknowledged(place: Place, host: Pick<ChannelHost, 'cursor'>): Promise<number> {
  const mails = await place.flags();
  // Asked after the flags: whatever was marked by then must lie below it.
  const handled = parseCursor((await host.cursor()) ?? '')?.uid;
  if (handled === undefined) throw new Error('no cursor was committed');
  const waiting = mails.filter(({ uid }) => uid > handled);
  if (waiting.some(({ seen }) => seen)) throw new Error('a mail was marked as read before it was accepted');
  return waiting.length;
}

describe.skipIf(missing !== undefined)('against dovecot and postfix', () => {
  beforeAll(async () => {
    servers = await startMailServers({ users: CASES.flatMap((number) => [`bot${number}`, `ada${number}`, `other${number}`]) });
  });
  afterAll(() => servers?.stop());
  channelContract('email', () => setup(realPlace));
});

describe('against an IMAP server without extensions', () => {
  channelContract('email', () => setup(plainPlace));
});
