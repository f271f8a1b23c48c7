/** What a well kept IMAP server cannot be made to do, against one that does it on command. */
import { expect, test } from 'vitest';
import type { Channel } from '../../../src/core/channel.ts';
import type { Clock } from '../../../src/core/ports.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { channelDeps } from '../../../src/testing/channel-deps.ts';
import { quickClock, TestHost } from '../../../src/testing/channel-host.ts';
import { type ImapServer, startImapServer } from '../../../src/testing/email/imap-server.ts';
import { FakeClock, MemoryLogger, outbound, until } from '../../../src/testing/fakes.ts';
import { channel as descriptor } from '../index.ts';
import { ImapSession } from './client.ts';
import { passwordCredentials } from './credentials.ts';
import { ownMessageId } from './thread.ts';

const signal = new AbortController().signal;

async function create(
  server: ImapServer,
  settings: Record<string, unknown> = {},
  { clock = systemClock, logger = new MemoryLogger() }: { clock?: Clock; logger?: MemoryLogger } = {},
): Promise<Channel & AsyncDisposable> {
  const parsed = descriptor.settings.parse({
    ...{ imap_host: '127.0.0.1', imap_port: server.port, imap_tls: 'none' },
    ...{ smtp_host: '127.0.0.1', smtp_port: 1, smtp_tls: 'none' },
    ...{ from_address: 'bot@example.test', trust_from: true, find_grace_secs: 0, ...settings },
  });
  const channel = await descriptor.create(parsed, { ...channelDeps(), name: 'email', clock, logger });
  return Object.assign(channel, { [Symbol.asyncDispose]: () => channel.stop() });
}

const PART = outbound({ channel: 'email', account: 'bot@example.test', chatId: 'alice@example.test' });

test('a folder that is not to be had now was not searched: find cannot say', async () => {
  await using server = await startImapServer();
  await using channel = await create(server);
  expect(await channel.find?.(PART, signal)).toBe('absent');
  for (const code of ['[UNAVAILABLE] ', '']) {
    server.refuse = (command) => (command.startsWith('EXAMINE') && looksAgain(server) ? `NO ${code}try later` : undefined);
    expect(await channel.find?.(PART, signal)).toBeUndefined();
  }
});

/** Opening the connection examines the mailbox once; the look after it is the one that counts. */
function looksAgain(server: ImapServer): boolean {
  return (
    server.commands
      .slice(server.commands.findLastIndex((command) => command.startsWith('LOGIN')))
      .filter((command) => command.startsWith('EXAMINE')).length > 1
  );
}

test('a misspelt sent_mailbox is reported at start, and makes no doubt a send that never was', async () => {
  await using server = await startImapServer();
  server.mailboxes.set('Sent', []);
  const host = new TestHost();
  await using channel = await create(server, { sent_mailbox: 'Snet', bcc_self: false });
  await channel.start(host, signal);
  expect(host.states.at(-1)).toEqual({ state: 'degraded', detail: expect.stringMatching(/"Snet".*sent_mailbox/) });
  expect(await channel.find?.(PART, signal)).toBeUndefined();

  const right = new TestHost();
  await using spelt = await create(server, { sent_mailbox: 'Sent', bcc_self: false });
  await spelt.start(right, signal);
  expect(right.state).toBe('healthy');
  expect(await spelt.find?.(PART, signal)).toBe('absent');
  const id = ownMessageId(PART, 'bot@example.test');
  server.mailboxes.set('Sent', [{ uid: 1, raw: `Message-ID: ${id}\r\n\r\nx` }]);
  expect(await spelt.find?.(PART, signal)).toEqual({ platformId: id });
});

const letter = (subject: string) =>
  `From: ada@example.test\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@x>\r\n\r\nhello\r\n`;
const stored = (override = {}) => JSON.stringify({ uidvalidity: '7', uid: 0, at: Date.now(), floor: 0, ...override });

test.each(['before', 'after'] as const)('a notice of changed flags %s the data of a mail is not the mail', async (place) => {
  await using server = await startImapServer();
  server.mailboxes.set('INBOX', [{ uid: 5, raw: letter('one') }]);
  server.unasked[place] = ['* 1 FETCH (UID 5 FLAGS (\\Seen))', '* 1 FETCH (FLAGS (\\Seen))'];
  // In a rescan the date decides: mail of which it is not known would be passed over.
  const since = Date.parse('2026-10-30T00:00:00Z');
  const host = new TestHost(stored({ rescan: { below: 100, since } }));
  await using channel = await create(server);
  await channel.start(host, signal);
  await until('the mail is offered', () => host.offered.length > 0);
  expect(host.accepted.map(({ text, refusal }) => [text, refusal])).toEqual([['[Subject: one]\nhello', undefined]]);
});

test('mails that wait together are handed over as they arrived, also where the server numbered them otherwise', async () => {
  await using server = await startImapServer();
  // A UID is given when a session first sees the mail, the date when the mail came; after a migration the
  // UIDs say nothing about time.
  const arrived = ['12:00:05', '12:00:03', '12:00:09', '12:00:05'];
  server.mailboxes.set(
    'INBOX',
    arrived.map((time, index) => ({ uid: index + 1, raw: letter(`n${index + 1}`), internalDate: `01-Nov-2026 ${time} +0000` })),
  );
  const host = new TestHost(stored());
  await using channel = await create(server);
  await channel.start(host, signal);
  await until('they are offered', () => host.accepted.length === arrived.length);
  expect(host.accepted.map(({ text }) => text)).toEqual([2, 1, 4, 3].map((uid) => `[Subject: n${uid}]\nhello`));
  expect(JSON.parse(host.batches.at(-1)?.cursor ?? '')).toMatchObject({ uid: 4 });
});

test('a mail that SEARCH listed and FETCH left out is asked for once more before the cursor passes it', async () => {
  await using server = await startImapServer();
  server.mailboxes.set(
    'INBOX',
    [1, 2, 3].map((uid) => ({ uid, raw: letter(`n${uid}`) })),
  );
  server.withheldOnce.add(2);
  const host = new TestHost(stored());
  await using channel = await create(server);
  await channel.start(host, signal);
  await until('they are offered', () => host.accepted.length > 1);
  expect(host.accepted.map(({ text }) => text)).toEqual([1, 2, 3].map((uid) => `[Subject: n${uid}]\nhello`));
});

test.each([
  ['NO [ALERT] Too many simultaneous connections. (Failure)', 'GH1502'],
  ['NO [LIMIT] LOGIN Rate limit hit', 'GH1502'],
  ['NO Server Unavailable. 15', 'GH1502'],
  ['NO [UNAVAILABLE] Temporary authentication failure', 'GH1502'],
  ['NO [SERVERBUG] x', 'GH1502'],
  ['NO [AUTHENTICATIONFAILED] Invalid credentials', 'GH1501'],
  ['NO [ALERT] Application-specific password required', 'GH1501'],
  ['NO LOGIN failed.', 'GH1501'],
])('F34 a login answered with %s is a case of %s', async (answer, code) => {
  await using server = await startImapServer();
  server.refuse = (command) => (command.startsWith('LOGIN') ? answer : undefined);
  const host = new TestHost();
  await using channel = await create(server);
  await channel.start(host, signal);
  expect(host.states.at(-1)?.detail).toMatch(code);
  if (code === 'GH1502') expect(host.states.at(-1)?.detail).toContain(answer.split('] ').at(-1)?.replace('NO ', ''));
});

test('F34 after three refused passwords the channel tries again every 15 minutes, and receives once it may', async () => {
  await using server = await startImapServer();
  let right = false;
  server.refuse = (command) => (command.startsWith('LOGIN') && !right ? 'NO [AUTHENTICATIONFAILED] no' : undefined);
  const clock = new FakeClock();
  const host = new TestHost();
  await using channel = await create(server, {}, { clock });
  await channel.start(host, signal);
  // After each refusal so much time that the next attempt is due, and never 15 minutes.
  for (let logins = 2; logins <= 3; logins += 1) {
    await clock.advance(10_000);
    await until('it tried again', () => server.logins === logins && host.states.length === logins + 1);
  }
  await clock.advance(14 * 60_000);
  expect(server.logins).toBe(3);
  right = true;
  await clock.advance(2 * 60_000);
  await until('it receives', () => host.state === 'healthy');
});

test('what the server says of a mailbox that it does not open is told', async () => {
  await using server = await startImapServer();
  server.refuse = (command) => (command.startsWith('SELECT') ? 'NO [SERVERBUG] the index of INBOX is damaged' : undefined);
  const host = new TestHost();
  const logger = new MemoryLogger();
  await using channel = await create(server, {}, { logger });
  await channel.start(host, signal);
  expect(host.states.at(-1)?.detail).toMatch(/^GH1502: .* failed: the index of INBOX is damaged$/);
});

test('the files of one mail are fetched with one look at it', async () => {
  await using server = await startImapServer();
  const part = (name: string) => `--b\r\nContent-Disposition: attachment; filename=${name}\r\n\r\nin ${name}\r\n`;
  const raw = `From: ada@example.test\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nwords\r\n${part('a')}${part('b')}--b--\r\n`;
  server.mailboxes.set('INBOX', [{ uid: 5, raw }]);
  await using channel = await create(server);
  const files: string[] = [];
  for (const index of ['body', 0, 1]) {
    const chunks: Uint8Array[] = [];
    const file = await channel.download?.({ kind: 'document', ref: `7:5:${index}` }, signal);
    for await (const chunk of file?.bytes ?? []) chunks.push(chunk);
    files.push(Buffer.concat(chunks).toString().trim());
  }
  expect(files).toEqual(['words', 'in a', 'in b']);
  expect(server.commands.filter((command) => command.startsWith('UID FETCH'))).toHaveLength(1);
});

test('a mail during which the connection broke ten times within a minute is received once the network is back', async () => {
  await using server = await startImapServer();
  server.mailboxes.set('INBOX', [{ uid: 5, raw: letter('large') }]);
  let breaks = 0;
  server.drop = (command) => {
    if (!command.includes('PEEK[]') || breaks === 10) return false;
    breaks += 1;
    return true;
  };
  const host = new TestHost(stored());
  await using channel = await create(server, {}, { clock: quickClock(1_000) });
  await channel.start(host, signal);
  await until('the mail is received', () => host.offered.length > 0);
  expect(host.offered.map(({ text, refusal }) => [text, refusal])).toEqual([['[Subject: large]\nhello', undefined]]);
  expect(breaks).toBe(10);
});

test('a mail that breaks each connection for as long as twenty minutes is skipped, and its neighbours get through', async () => {
  await using server = await startImapServer();
  server.mailboxes.set(
    'INBOX',
    [1, 2].map((uid) => ({ uid, raw: letter(`n${uid}`) })),
  );
  server.drop = (command) => command.startsWith('UID FETCH 1 ') && command.includes('PEEK[]');
  const host = new TestHost(stored());
  const clock = { ...quickClock(10_000), monotonic: () => systemClock.monotonic() * 10_000 };
  await using channel = await create(server, {}, { clock });
  await channel.start(host, signal);
  await until('the other is received', () => host.accepted.length > 1);
  expect(host.accepted.map(({ text, refusal }) => [text, refusal])).toEqual([
    ['', 'unreadable'],
    ['[Subject: n2]\nhello', undefined],
  ]);
});

test('a migration that gives all mail a new date makes none of it new', async () => {
  await using server = await startImapServer();
  const dated = (uid: number, date: string) => ({ uid, raw: `Date: ${date}\r\n${letter(`n${uid}`)}` });
  const mails = [
    dated(1, 'Tue, 3 Jan 2023 10:00:00 +0100 (CET)'),
    dated(2, 'Sun, 1 Nov 2026 09:00:00 +0000'),
    dated(3, 'nonsense'),
  ];
  server.mailboxes.set('INBOX', mails);
  const at = Date.parse('2026-11-01T08:00:00Z');
  const host = new TestHost(stored({ uidvalidity: '6', uid: 90, at, floor: at - 86_400_000 }));
  const logger = new MemoryLogger();
  await using channel = await create(server, {}, { logger });
  await channel.start(host, signal);
  await until('the new ones are received', () => host.accepted.length > 1);
  expect(host.accepted.map(({ text }) => text)).toEqual(['[Subject: n2]\nhello', '[Subject: n3]\nhello']);
  expect(logger.lines.filter(({ event }) => event === 'email.passed-over').map(({ data }) => data['uid'])).toEqual([1]);
});

test('a mailbox in which nothing arrives has a fresh cursor all the same', async () => {
  await using server = await startImapServer();
  const clock = new FakeClock(Date.parse('2026-11-01T08:00:00Z'));
  const host = new TestHost(stored({ at: clock.now() - 13 * 3_600_000 }));
  await using channel = await create(server, {}, { clock });
  await channel.start(host, signal);
  await until('it is renewed', () => host.batches.length > 0);
  expect(host.batches.map(({ messages, cursor }) => [messages, JSON.parse(cursor ?? '')])).toEqual([
    [[], { uidvalidity: '7', uid: 0, at: clock.now(), floor: 0 }],
  ]);
});

test('an answer that came back is logged, and counted in the health of the channel', async () => {
  await using server = await startImapServer();
  const raw = `From: mailer-daemon@x\r\nX-Failed-Recipients: ada@example.test\r\n\r\nMessage-ID: ${ownMessageId(PART, 'bot@example.test')}\r\n`;
  server.mailboxes.set('INBOX', [{ uid: 5, raw }]);
  const [host, logger] = [new TestHost(stored()), new MemoryLogger()];
  await using channel = await create(server, {}, { logger });
  await channel.start(host, signal);
  await until('it is told', () => host.states.at(-1)?.detail !== undefined);
  expect(host.states.at(-1)).toEqual({ state: 'healthy', detail: expect.stringMatching(/^1 answer .*undeliverable/) });
  expect(host.accepted.map(({ refusal }) => refusal)).toEqual(['automatic-mail']);
  expect(logger.lines.map(({ event }) => event)).toContain('email.undeliverable');
});

test('a token that Exchange Online refuses, without a code and without a reason, is replaced once', async () => {
  await using server = await startImapServer();
  server.refuse = (command) => {
    const [, sasl] = /^AUTHENTICATE XOAUTH2 (\S+)/.exec(command) ?? [];
    if (sasl === undefined) return undefined;
    const said = Buffer.from(sasl, 'base64').toString();
    return said === 'user=bot\x01auth=Bearer token-2\x01\x01' ? 'OK AUTHENTICATE completed.' : 'NO AUTHENTICATE failed.';
  };
  const left = ['token-1', 'token-2'];
  const credentials = {
    ...passwordCredentials('', ''),
    current: async () => ({ user: 'bot', accessToken: left[0] ?? '' }),
    another: async () => ({ user: 'bot', accessToken: left[1] ?? '' }),
  };
  const place = { host: '127.0.0.1', port: server.port, tls: 'none', rejectUnauthorized: true } as const;
  const options = { mailbox: 'INBOX', readOnly: true, signal };
  await using session = await ImapSession.logIn({ place, credentials }, options);
  expect(session.uidValidity).toBe('7');
  left[1] = 'token-3';
  await expect(ImapSession.logIn({ place, credentials }, options)).rejects.toMatchObject({ authenticationFailed: true });
  expect(server.commands.filter((command) => command.startsWith('AUTHENTICATE'))).toHaveLength(4);
});
