/** What each answer of an SMTP server comes to, against a server that misbehaves on command. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { expect, test } from 'vitest';
import { outbound, tempDir } from '../../../src/testing/fakes.ts';
import { needs } from '../../../src/testing/needs.ts';
import { UNREADABLE_NOW } from '../../../src/testing/unreadable-file.ts';
import { toInbound } from '../in/inbound.ts';
import { toMail } from '../out/outbound.ts';
import type { ServerAddress } from './client.ts';
import { type Credentials, passwordCredentials } from './credentials.ts';
import { describeFault } from './failure.ts';
import { type Mail, sendMail, submitMail } from './smtp.ts';

const MAIL: Mail = {
  from: { name: '', address: 'bot@example.test' },
  to: ['alice@example.test'],
  blindCopy: 'bot@example.test',
  subject: 's\r\nBcc: mallory@evil.test',
  messageId: '<m@example.test>',
  references: [],
  text: 'x',
  headers: {},
};
const signal = new AbortController().signal;
const reply = (responseCode: number, message: string) => Object.assign(new Error(message), { responseCode });

async function listen(options: SMTPServerOptions): Promise<{ address: ServerAddress } & AsyncDisposable> {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    closeTimeout: 10,
    disableReverseLookup: true,
    onAuth: (auth, _session, done) => done(null, { user: auth.username }),
    onData: (stream, _session, done) => {
      stream.resume();
      stream.once('end', () => done());
    },
    ...options,
  });
  server.on('error', () => undefined);
  const listener = server.listen(0, '127.0.0.1');
  await new Promise((resolve) => listener.once('listening', resolve));
  const { port } = listener.address() as { port: number };
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { address: at(port), [Symbol.asyncDispose]: close };
}

function at(port: number, override: Partial<ServerAddress> = {}): ServerAddress {
  return { host: '127.0.0.1', port, tls: 'none', rejectUnauthorized: true, user: 'bot', password: 'hunter2', ...override };
}

const send = (server: ServerAddress, timeoutMs = 20_000) => sendMail(MAIL, { server, timeoutMs }, signal);

function refuseAllButUs(error: Error): NonNullable<SMTPServerOptions['onRcptTo']> {
  return (address, _session, done) => done(address.address.startsWith('bot@') ? null : error);
}

test('a mail whose file cannot be read now is sent later, and one whose file is gone or never can be is refused', async () => {
  await using server = await listen({});
  await using dir = await tempDir();
  const path = join(dir.path, 'copy');
  await symlink(UNREADABLE_NOW, path);
  const mail = { ...MAIL, attachments: [{ path, name: 'a.txt', mime: 'text/plain' }] };
  const submit = async () => (await sendMail(mail, { server: server.address, timeoutMs: 20_000 }, signal)).result;
  expect(await submit()).toMatchObject({ kind: 'retry', scope: 'part' });
  await rm(path);
  const gone = { kind: 'refused', reason: 'invalid', detail: 'an attachment is not there any more' };
  expect(await submit()).toEqual(gone);
  await symlink('copy', path);
  expect(await submit()).toEqual({ ...gone, detail: 'an attachment is a symbolic link that leads back to itself' });
});

test('an accepted mail goes to the one recipient and the blind copy, whatever its subject says', async () => {
  const envelopes: string[][] = [];
  await using server = await listen({
    onData(stream, session, done) {
      envelopes.push(session.envelope.rcptTo.map(({ address }) => address));
      stream.resume().once('end', () => done());
    },
  });
  expect(await send(server.address)).toEqual({ result: { kind: 'sent', platformId: '<m@example.test>' } });
  expect(envelopes).toEqual([['alice@example.test', 'bot@example.test']]);
});

test('A6 a reply to a hostile mail has the header fields of any reply, and nobody but its author is named in it', async () => {
  const received: string[] = [];
  await using server = await listen({
    onData(stream, _session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.once('end', () => {
        received.push(Buffer.concat(chunks).toString());
        done();
      });
    },
  });
  const injected = '=?utf-8?q?x=0D=0ABcc=3A_mallory=40evil.test=0D=0A=0D=0Abody?=';
  const hostile = [
    `From: ${injected} <alice@example.test>`,
    ...['Reply-To: mallory@evil.test', 'Sender: mallory@evil.test', 'Cc: mallory@evil.test', 'Errors-To: mallory@evil.test'],
    ...[`Subject: ${injected}`, `Message-ID: <a@x> <b@evil.test>`, 'References: <r@x>,mallory@evil.test <\u0001@x>'],
    ...['', 'hello'],
  ].join('\r\n');
  const account = 'bot@example.test';
  const options = { channel: 'email', account, trustFrom: true, authservId: undefined, maxBodyChars: 1_000, maxFileBytes: 1_000 };
  const message = await toInbound(Buffer.from(hostile), { uidValidity: '1', uid: 1, receivedAt: 0, size: 1 }, options);
  const { chatId, replyContext = {}, id: messageId } = message;
  const part = outbound({ chatId, replyContext, messageId, text: 'answer' });
  const mail = await toMail(part, { from: MAIL.from, blindCopy: true, plain: false });
  expect((await sendMail(mail, { server: server.address, timeoutMs: 20_000 }, signal)).result).toMatchObject({ kind: 'sent' });
  const head = (received[0] ?? '').split('\r\n\r\n', 1)[0]?.replace(/\r\n[ \t]+/g, ' ') ?? '';
  const fields = head.split('\r\n').map((line) => line.split(':', 1)[0]);
  expect(fields.toSorted()).toEqual([
    ...[
      'Auto-Submitted',
      'Content-Type',
      'Date',
      'From',
      'In-Reply-To',
      'MIME-Version',
      'Message-ID',
      'References',
      'Subject',
      'To',
    ],
    'X-Auto-Response-Suppress',
  ]);
  expect(head).toMatch(/^To: alice@example\.test$/m);
  expect(head).toMatch(/^Subject: Re: x Bcc: mallory@evil\.test body$/m);
  expect(head).toMatch(/^References: <r@x> <a@x>$/m);
});

const LIMITED = { kind: 'retry', scope: 'account', afterMs: 900_000 } as const;

const REPLIES = [
  { at: 'RCPT', code: 451, text: '4.2.1 mailbox busy', expected: { kind: 'retry', scope: 'part' } },
  { at: 'RCPT', code: 550, text: '5.1.1 no such user', expected: { kind: 'refused', reason: 'chat-gone' } },
  { at: 'RCPT', code: 550, text: '5.7.1 blocked', expected: { kind: 'refused', reason: 'blocked' } },
  { at: 'MAIL', code: 451, text: '4.3.0 try later', expected: { kind: 'retry', scope: 'account' } },
  { at: 'DATA', code: 451, text: '4.3.0 try later', expected: { kind: 'retry', scope: 'part' } },
  { at: 'DATA', code: 552, text: '5.3.4 too big', expected: { kind: 'refused', reason: 'too-long' } },
  { at: 'DATA', code: 554, text: '5.7.1 spam', expected: { kind: 'refused', reason: 'invalid' } },
  { at: 'DATA', code: 550, text: '5.6.0 bad mail', expected: { kind: 'refused', reason: 'invalid' } },
  // A limit of a day or of a minute, whatever the first digit says: the words of Gmail and of Exchange
  // Online.
  { at: 'DATA', code: 550, text: '5.4.5 Daily user sending limit exceeded.', expected: LIMITED },
  { at: 'RCPT', code: 550, text: '5.4.5 Daily SMTP relay limit exceeded for user.', expected: LIMITED },
  { at: 'MAIL', code: 554, text: '5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException', expected: LIMITED },
] as const;

test.each(REPLIES)('F37 $code $text at $at is $expected', async ({ at: step, code, text, expected }) => {
  const error = reply(code, text);
  await using server = await listen({
    onMailFrom: (_address, _session, done) => done(step === 'MAIL' ? error : null),
    // Only the person is refused: the server takes the blind copy, and the answer must not count as sent.
    onRcptTo: (address, _session, done) => done(step === 'RCPT' && address.address.startsWith('alice') ? error : null),
    onData: (stream, _session, done) => stream.resume().once('end', () => done(step === 'DATA' ? error : null)),
  });
  const { result } = await send(server.address);
  expect(result).toMatchObject(expected);
});

test.each(['ann@Example.COM', 'ann@münchen.de', 'Ann@example.com'])(
  'a refused %s is refused, in whatever form the wire has it',
  async (to) => {
    await using server = await listen({ onRcptTo: refuseAllButUs(reply(550, '5.1.1 no such user')) });
    const { result } = await sendMail({ ...MAIL, to: [to] }, { server: server.address, timeoutMs: 20_000 }, signal);
    expect(result).toMatchObject({ kind: 'refused', reason: 'chat-gone' });
  },
);

test.each([true, false])(
  'a mail whose reader is refused reaches nobody (pipelining %s): a copy would prove a send that was none',
  async (pipelining) => {
    const taken: string[] = [];
    await using server = await listen({
      disabledCommands: ['STARTTLS'],
      hidePIPELINING: !pipelining,
      onRcptTo: refuseAllButUs(reply(450, '4.2.1 mailbox busy')),
      onData: (stream, _session, done) =>
        stream.resume().once('end', () => {
          taken.push('mail');
          done();
        }),
    });
    expect((await send(server.address)).result).toMatchObject({ kind: 'retry', scope: 'part' });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(taken).toEqual([]);
  },
);

test.each([
  ['450', { kind: 'retry', scope: 'part' }],
  ['550', { kind: 'refused', reason: 'chat-gone' }],
] as const)(
  'a mail to three that one of them is refused with %s reaches none, and is tried again only as a whole',
  async (code, expected) => {
    const taken: string[] = [];
    await using server = await listen({
      onRcptTo: (address, _session, done) =>
        done(address.address.startsWith('eve@') ? reply(Number(code), `${code[0]}.1.1 no`) : null),
      onData: (stream, session, done) =>
        stream.resume().once('end', () => {
          taken.push(...session.envelope.rcptTo.map(({ address }) => address));
          done();
        }),
    });
    const options = { server: server.address, timeoutMs: 20_000 };
    const three = { ...MAIL, to: ['ann@example.test', 'ben@example.test'], cc: ['eve@example.test'] };
    expect((await sendMail(three, options, signal)).result).toMatchObject(expected);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(taken).toEqual([]);
    expect((await sendMail({ ...three, cc: ['dan@example.test'] }, options, signal)).result).toMatchObject({ kind: 'sent' });
    expect(taken).toEqual(['ann@example.test', 'ben@example.test', 'dan@example.test', 'bot@example.test']);
  },
);

test("a server that refuses the copy alone sends the mail, and the person's own refusal counts where it refuses both", async () => {
  await using copy = await listen({
    onRcptTo: (address, _session, done) => done(address.address.startsWith('bot@') ? reply(450, '4.2.1 busy') : null),
  });
  expect((await send(copy.address)).result).toMatchObject({ kind: 'sent' });
  await using both = await listen({
    onRcptTo: (address, _session, done) =>
      done(address.address.startsWith('bot@') ? reply(450, '4.2.1 busy') : reply(550, '5.1.1 gone')),
  });
  expect((await send(both.address)).result).toMatchObject({ kind: 'refused', reason: 'chat-gone' });
});

test('F37 silence after the whole mail was handed over is unknown', async () => {
  await using server = await listen({ onData: (stream) => stream.resume() });
  expect((await send(server.address, 300)).result).toMatchObject({ kind: 'unknown' });
});

test('F37 silence before the mail was handed over is a retry', async () => {
  await using server = await listen({ onRcptTo: () => undefined });
  const { result, fault } = await send(server.address, 300);
  expect(result).toMatchObject({ kind: 'retry', scope: 'account' });
  expect(fault).toMatchObject({ code: 'GH1502', permanent: false });
});

test('an abort before the hand-over is a retry and accuses nobody', async () => {
  await using server = await listen({ onRcptTo: () => undefined });
  const stop = new AbortController();
  const outcome = sendMail(MAIL, { server: server.address, timeoutMs: 5_000 }, stop.signal);
  setTimeout(() => stop.abort(), 50);
  expect(await outcome).toEqual({ result: expect.objectContaining({ kind: 'retry' }) });
});

test('refused credentials (535) are said as GH1501 without the password; a login service that is down (454) is a retry', async () => {
  await using wrong = await listen({ onAuth: (_auth, _session, done) => done(reply(535, '5.7.8 bad credentials')) });
  const refused = await send(wrong.address);
  expect(refused).toMatchObject({ result: { kind: 'refused', reason: 'auth' }, fault: { code: 'GH1501', permanent: true } });
  expect(JSON.stringify(refused)).not.toContain('hunter2');
  await using down = await listen({ onAuth: (_auth, _session, done) => done(reply(454, '4.7.0 temporary failure')) });
  expect((await send(down.address)).result).toMatchObject({ kind: 'retry', scope: 'account' });
});

test('a server without STARTTLS gets no password and no mail in clear text', async () => {
  let logins = 0;
  await using server = await listen({
    onAuth: (_auth, _session, done) => {
      logins += 1;
      done(null, { user: 'bot' });
    },
  });
  const { result, fault } = await send({ ...server.address, tls: 'starttls' });
  expect(result).toMatchObject({ kind: 'retry', scope: 'account' });
  expect(fault?.detail).toContain('STARTTLS');
  expect(logins).toBe(0);
});

test('nothing listening, and plain text where TLS is expected, are named', async () => {
  const server = createServer((socket) =>
    socket
      .on('error', () => undefined)
      .resume()
      .end('220 hello\r\n'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as { port: number };
  expect((await send(at(port, { tls: 'implicit' }))).fault?.detail).toContain('does not speak TLS');
  await new Promise((resolve) => server.close(resolve));
  expect((await send(at(port))).fault?.detail).toContain('nothing listens there');
});

test('an expired certificate and one for another name are named as such', async (context) => {
  needs(context, 'openssl', 'version');
  await using dir = await tempDir();
  const [key, request] = [join(dir.path, 'key.pem'), join(dir.path, 'request.pem')];
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  openssl('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', request, '-subj', '/CN=elsewhere.test');
  const details: (string | undefined)[] = [];
  for (const days of ['-1', '1']) {
    const cert = join(dir.path, `cert${days}.pem`);
    openssl('x509', '-req', '-in', request, '-signkey', key, '-days', days, '-out', cert);
    await using server = await listen({ secure: true, key: readFileSync(key), cert: readFileSync(cert) });
    const { result, fault } = await send({ ...server.address, tls: 'implicit', ca: readFileSync(cert, 'utf8') });
    expect(result).toMatchObject({ kind: 'retry', afterMs: 60_000 });
    details.push(fault?.detail);
  }
  expect(details).toEqual([expect.stringContaining('has expired'), expect.stringContaining('for another name')]);
});

/** Tokens in order; each refusal brings the next one. */
function tokens(...left: string[]): Credentials & { readonly refused: string[] } {
  const refused: string[] = [];
  const login = () => ({ user: 'bot', accessToken: left[0] ?? 'none' });
  return {
    ...passwordCredentials('', ''),
    refused,
    advice: 'log in again',
    redact: (text) => text.replaceAll(/token-\d/g, '[secret]'),
    current: async () => login(),
    async another() {
      refused.push(left.shift() ?? '');
      return left.length === 0 ? undefined : login();
    },
  };
}

/**
 * Takes `token-2` alone. `challenge`: refuses as Gmail does, with its reason to be answered first; else as
 * Exchange Online does.
 */
function tokenServer(challenge: boolean, onData?: SMTPServerOptions['onData']) {
  return listen({
    authOptional: false,
    authMethods: ['XOAUTH2'],
    onAuth(auth, _session, done) {
      if (auth.accessToken === 'token-2') return done(null, { user: 'bot' });
      if (challenge) return done(null, { data: { status: '401', schemes: 'bearer mac', scope: 'my_smtp_access_scope_name' } });
      done(reply(535, `5.7.3 Authentication unsuccessful ${auth.accessToken}`));
    },
    ...(onData ? { onData } : {}),
  });
}

test.each([
  ['at once, as Exchange Online does', false],
  ['with a reason to be answered, as Gmail does', true],
])('a token that is refused %s is replaced once, and the mail goes out once', async (_how, challenge) => {
  let mails = 0;
  await using server = await tokenServer(challenge, (stream, _session, done) => {
    mails += 1;
    stream.resume().once('end', () => done());
  });
  const credentials = tokens('token-1', 'token-2');
  const access = { place: server.address, credentials };
  expect(await submitMail(MAIL, { access, timeoutMs: 20_000 }, signal)).toMatchObject({ result: { kind: 'sent' } });
  expect([mails, credentials.refused]).toEqual([1, ['token-1']]);
});

test.each([[false], [true]])(
  'a second token that is refused too is told with what to do, and no token with it',
  async (challenge) => {
    await using server = await tokenServer(challenge);
    const credentials = tokens('token-1', 'token-3', 'token-2');
    const outcome = await submitMail(MAIL, { access: { place: server.address, credentials }, timeoutMs: 20_000 }, signal);
    expect(outcome).toMatchObject({ result: { kind: 'refused', reason: 'auth' }, fault: { code: 'GH1501', permanent: true } });
    expect(outcome.fault?.detail).toContain('refused the credentials: log in again');
    expect(JSON.stringify(outcome)).not.toMatch(/token-\d/);
    expect(credentials.refused).toEqual(['token-1']);
  },
);

test.each(['MAIL', 'RCPT', 'DATA'] as const)(
  'a server that repeats the token at %s, also where its words are cut, does not get it into what is kept',
  async (step) => {
    const error = reply(550, `5.7.1 ${'x'.repeat(270)} token-2 and token-2`);
    await using server = await listen({
      authOptional: false,
      authMethods: ['XOAUTH2'],
      onAuth: (_auth, _session, done) => done(null, { user: 'bot' }),
      onMailFrom: (_address, _session, done) => done(step === 'MAIL' ? error : null),
      onRcptTo: (_address, _session, done) => done(step === 'RCPT' ? error : null),
      onData: (stream, _session, done) => stream.resume().once('end', () => done(error)),
    });
    const redact = (text: string) => text.replaceAll('token-2', '[secret]');
    const credentials = { ...tokens('token-2'), redact };
    const outcome = await submitMail(MAIL, { access: { place: server.address, credentials }, timeoutMs: 20_000 }, signal);
    expect(outcome.result).toMatchObject({ kind: 'refused', detail: expect.stringContaining('[secret]') });
    expect(JSON.stringify(outcome)).not.toContain('tok');
  },
);

test('a token that a server repeats where its words are cut is not in the fault', () => {
  const token = 'a'.repeat(600);
  const redact = (text: string) => text.replaceAll(token, '[secret]');
  const error = Object.assign(new Error('Command failed'), { responseText: `${'x'.repeat(250)} ${token}` });
  const { detail } = describeFault('IMAP server', error, { advice: '', redact });
  expect(detail).toContain('[secret]');
  expect(detail).not.toContain('aaa');
});

test('a send that is ended while the login is fetched leaves no mark on the server', async () => {
  const place = at(1);
  const stop = new AbortController();
  const credentials = {
    ...tokens('token-1'),
    current: async () => stop.signal.throwIfAborted() ?? { user: 'bot', password: '' },
  };
  stop.abort(new Error('stopped'));
  const outcome = await submitMail(MAIL, { access: { place, credentials }, timeoutMs: 20_000 }, stop.signal);
  expect(outcome).toEqual({ result: { kind: 'retry', reason: 'sending was ended', scope: 'account' } });
});
