/** Against an IMAP server that has IMAP4rev1 and no extension: nothing is announced, everything is polled. */
import { expect, test } from 'vitest';
import { channelDeps } from '../../../src/testing/channel-deps.ts';
import { quickClock, TestHost } from '../../../src/testing/channel-host.ts';
import { startPlainServers } from '../../../src/testing/email/plain-servers.ts';
import { MemoryLogger, outbound, until } from '../../../src/testing/fakes.ts';
import { channel as descriptor } from '../index.ts';

const BOT = 'bot@example.test';
const signal = new AbortController().signal;

async function scene() {
  const servers = await startPlainServers({ owner: BOT, password: 'secret' });
  const logger = new MemoryLogger();
  let mails = 0;
  return {
    ...{ servers, logger },
    write(text: string, date?: Date) {
      mails += 1;
      const written = (date ?? new Date()).toUTCString();
      const head = [`From: Ada <ada@example.test>`, `Date: ${written}`, `Message-ID: <${mails}@example.test>`];
      servers.deliver([...head, 'Content-Type: text/plain; charset=utf-8', '', text].join('\r\n'), date);
    },
    async start(host: TestHost, override: Readonly<Record<string, unknown>> = {}) {
      const settings = descriptor.settings.parse({
        ...{ imap_host: '127.0.0.1', imap_port: servers.imapPort, imap_tls: 'none', trust_from: true },
        ...{ smtp_host: '127.0.0.1', smtp_port: servers.smtpPort, smtp_tls: 'none', from_address: BOT },
        ...{ poll_interval_secs: 1, find_grace_secs: 0, ...override },
      });
      const secret = (variable: string) => (variable === 'EMAIL_USERNAME' ? BOT : 'secret');
      const deps = channelDeps({ name: 'email', secret, logger, clock: quickClock() });
      const channel = await descriptor.create(settings, deps);
      await channel.start(host, signal);
      return Object.assign(channel, { [Symbol.asyncDispose]: () => channel.stop() });
    },
    [Symbol.asyncDispose]: () => servers[Symbol.asyncDispose](),
  };
}

const texts = (host: TestHost) => host.accepted.map(({ text }) => text);

test('mail is seen by polling, in order and once, and in the words that were written', async () => {
  await using it = await scene();
  it.write('before the first start');
  const host = new TestHost();
  await using _channel = await it.start(host);
  for (const text of ['one', 'zwei – ünïcödé', '三']) {
    it.write(text);
    await until(`${text} is received`, () => texts(host).at(-1) === text);
  }
  expect(texts(host)).toEqual(['one', 'zwei – ünïcödé', '三']);
  expect(host.offered).toHaveLength(3);
});

test('what arrived while the daemon was away is caught up with, in batches', async () => {
  await using it = await scene();
  const host = new TestHost();
  const first = await it.start(host);
  it.write('at home');
  await until('it is received', () => host.accepted.length === 1);
  await first.stop();
  const missed = Array.from({ length: 45 }, (_, index) => `missed ${index}`);
  for (const text of missed) it.write(text);
  await using _second = await it.start(host, { max_replies_per_sender_per_hour: 1_000 });
  await until('all are received', () => host.accepted.length === 46);
  expect(texts(host)).toEqual(['at home', ...missed]);
  expect(host.offered).toHaveLength(46);
});

test('when UIDVALIDITY changes, no mail is answered twice and none is lost', async () => {
  await using it = await scene();
  it.write('of last year', new Date('2025-01-02T03:04:05Z'));
  const host = new TestHost();
  await using _channel = await it.start(host);
  it.write('before');
  await until('it is received', () => host.accepted.length === 1);
  it.servers.renumber();
  it.write('after');
  await until('the new one is received', () => texts(host).includes('after'));
  // Known by its Message-ID: the journal takes the second offer for what it is.
  const known = new Set(host.accepted.map(({ secondaryId }) => secondaryId));
  expect([known.size, texts(host).includes('of last year')]).toEqual([2, false]);
  expect(it.logger.lines.filter(({ event }) => event === 'email.uidvalidity-changed')).toHaveLength(1);
});

test('an answer goes out, is found by its copy, and one that was never sent is told apart', async () => {
  await using it = await scene();
  const host = new TestHost();
  await using channel = await it.start(host);
  const part = (key: string) =>
    outbound({ channel: 'email', account: BOT, chatId: 'ada@example.test', key, text: `text of ${key}` });
  expect(await channel.send(part('k1'), { plain: false, signal })).toMatchObject({ kind: 'sent' });
  expect(it.servers.sent.map(({ to }) => to)).toEqual(['ada@example.test']);
  expect(await channel.find?.(part('k1'), signal)).toMatchObject({ platformId: expect.any(String) });
  expect(await channel.find?.(part('k2'), signal)).toBe('absent');
});

test('a folder for sent mail that is not there is told, and leaves doubts as doubts', async () => {
  await using it = await scene();
  const host = new TestHost();
  await using channel = await it.start(host, { sent_mailbox: 'Sent' });
  expect(host.states.at(-1)).toMatchObject({ state: 'degraded', detail: expect.stringContaining('has no folder "Sent"') });
  const part = outbound({ channel: 'email', account: BOT, chatId: 'ada@example.test', key: 'k1', text: 'x' });
  expect(await channel.find?.(part, signal)).toBeUndefined();
});

test('mail that was taken is marked as read, and mail that was refused stays unread', async () => {
  await using it = await scene();
  const host = new TestHost();
  await using _channel = await it.start(host);
  it.write('a question');
  it.servers.deliver('From: list@example.test\r\nPrecedence: bulk\r\nMessage-ID: <list@example.test>\r\n\r\nnews');
  const flags = () => it.servers.imap.getMailbox('INBOX').messages.map((mail) => mail.flags.includes('\\Seen'));
  await until('both are handled', () => host.offered.length === 2 && flags()[0]);
  expect(flags()).toEqual([true, false]);
});
