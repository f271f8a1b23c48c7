/** Against a real dovecot and postfix. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Channel, ChannelHealth, ChannelHost, Receipt } from '../../src/core/channel.ts';
import { partKey } from '../../src/core/ids.ts';
import type { InboundMessage, OutboundPart } from '../../src/core/message.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { startMailProxy } from '../../src/simulator/email/proxy.ts';
import { MAIL_PASSWORD, type MailServers, mailServersMissing, startMailServers } from '../../src/simulator/email/servers.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { quickClock } from '../../src/testing/channel-host.ts';
import { MemoryLogger, until } from '../../src/testing/fakes.ts';
import { channel as descriptor } from './index.ts';

const missing = mailServersMissing();
if (missing !== undefined) {
  if (process.env['CI']) throw new Error(`the mail servers are missing: ${missing}`);
  process.stderr.write(`channels/email/email.test.ts skipped: ${missing}\n`);
}

/** Keeps what a journal would: the cursor, and each message once by either of its keys. */
class Host implements ChannelHost {
  readonly accepted: InboundMessage[] = [];
  readonly refused: InboundMessage[] = [];
  readonly offered: string[] = [];
  readonly states: { state: ChannelHealth; detail: string | undefined }[] = [];
  readonly #keys = new Set<string>();
  stored: string | undefined;
  /** What the next calls answer instead of accepting. */
  readonly answers: (Receipt | Error)[] = [];

  async receive(batch: readonly InboundMessage[], cursor?: string): Promise<Receipt> {
    this.offered.push(...batch.map((message) => message.platformId));
    const answer = this.answers.shift();
    if (answer instanceof Error) throw answer;
    if (answer) return answer;
    for (const message of batch) {
      const keys = [message.platformId, ...(message.secondaryId === undefined ? [] : [message.secondaryId])];
      if (keys.some((key) => this.#keys.has(key))) continue;
      for (const key of keys) this.#keys.add(key);
      (message.refusal === undefined ? this.accepted : this.refused).push(message);
    }
    this.stored = cursor;
    return { kind: 'accepted' };
  }
  async cursor(): Promise<string | undefined> {
    return this.stored;
  }
  health(state: ChannelHealth, detail?: string): void {
    this.states.push({ state, detail });
  }
  ended(): void {}
  texts(): string[] {
    return this.accepted.map((message) => message.text);
  }
}

const RESULT = 'Authentication-Results: mx.example.test; dmarc=pass header.from=example.test';
let ids = 0;
const mail = (subject: string, { from = 'alice', headers = '', body = 'text' } = {}) => {
  ids += 1;
  return `${RESULT}\nFrom: ${from}@example.test\nTo: bot@example.test\nSubject: ${subject}\nMessage-ID: <t${ids}@example.test>\n${headers}\n${body}\n`;
};

const withFile = (index: number) =>
  `Content-Type: multipart/mixed; boundary=b\n\n--b\n\nbody ${index}\n--b\nContent-Type: text/plain\nContent-Disposition: attachment; filename=f${index}.txt\n\nfile ${index}\n--b--`;

describe.skipIf(missing !== undefined)('against dovecot and postfix', () => {
  let servers: MailServers;
  const signal = new AbortController().signal;

  beforeAll(async () => {
    servers = await startMailServers();
  });
  afterAll(() => servers.stop());

  async function open(
    host: Host,
    override: Record<string, unknown> = {},
    { password = MAIL_PASSWORD, clock = systemClock, receiving = signal } = {},
  ): Promise<Channel & AsyncDisposable> {
    const settings = descriptor.settings.parse({
      imap_host: servers.host,
      imap_port: servers.imapsPort,
      smtp_host: servers.host,
      smtp_port: servers.smtpPort,
      from_address: 'bot@example.test',
      authserv_id: 'mx.example.test',
      tls_ca_file: servers.caFile,
      find_grace_secs: 0,
      poll_interval_secs: 600,
      max_replies_per_sender_per_hour: 1000,
      ...override,
    });
    const secret = (variable: string) => (variable === 'EMAIL_USERNAME' ? 'bot@example.test' : password);
    const deps = { ...channelDeps(), name: 'email', secret, clock, logger: new MemoryLogger(), random: () => 0 };
    const channel = await descriptor.create(settings, deps);
    await channel.start(host, receiving);
    return Object.assign(channel, { [Symbol.asyncDispose]: () => channel.stop() });
  }

  const answer = (message: InboundMessage, override: Partial<OutboundPart> = {}): OutboundPart => ({
    ...{ key: partKey(message.id, 0), channel: 'email', account: message.account, chatId: message.chatId, messageId: message.id },
    ...{ ordinal: 0, count: 1, text: 'the **answer**' },
    ...(message.threadId === undefined ? {} : { threadId: message.threadId }),
    ...(message.replyContext ? { replyContext: message.replyContext } : {}),
    ...override,
  });

  test('F1 F2 50 mails in 10 threads with files arrive in order and once, over a restart in the middle', async () => {
    const host = new Host();
    const first = await open(host);
    const send = async (from: number, to: number) => {
      for (let index = from; index < to; index += 1) {
        const thread = index % 10;
        const headers = `References: <root${thread}@example.test>\nMIME-Version: 1.0\n${withFile(index).split('\n\n', 1)[0]}\n`;
        const body = withFile(index).split('\n\n').slice(1).join('\n\n');
        await servers.deliver(mail(`thread ${thread}`, { headers, body, from: thread % 2 ? 'carol' : 'alice' }));
      }
    };
    await send(0, 30);
    await until('the first half is received', () => host.accepted.length >= 10);
    await first.stop();
    const before = host.accepted.length;
    await send(30, 50);
    await using second = await open(host);
    await until('all are received', () => host.accepted.length === 50);
    expect(before).toBeLessThan(50);
    const about = '[about another mail: not all of this is in the words of the sender]';
    expect(host.texts()).toEqual(
      Array.from({ length: 50 }, (_, index) => `[Subject: thread ${index % 10}]\n${about}\nbody ${index}`),
    );
    expect(new Set(host.offered).size).toBe(host.offered.length);
    expect(new Set(host.accepted.map((message) => `${message.chatId} ${message.threadId}`)).size).toBe(10);
    const [media] = host.accepted[37]?.media ?? [];
    if (!media) throw new Error('no attachment');
    const file = await second.download?.(media, signal);
    const bytes: Uint8Array[] = [];
    for await (const chunk of file?.bytes ?? []) bytes.push(chunk);
    expect(Buffer.concat(bytes).toString().trim()).toBe('file 37');
    await expect(second.download?.({ ...media, size: 99_000_000 }, signal)).rejects.toMatchObject({ code: 'GH1504' });
    await expect(second.download?.({ ...media, ref: '1:1:0' }, signal)).rejects.toMatchObject({ code: 'GH1505' });
  });

  test('a reply lies in the thread for the person who asked, and her answer comes back into the same thread', async () => {
    const host = new Host();
    await using channel = await open(host, { from_name: 'Gätehouse' });
    await servers.deliver(mail('Grüße', { headers: 'References: <start@example.test> <middle@example.test>\n' }));
    const message = await until('the mail is received', () => host.accepted[0]);
    expect(await channel.send(answer(message), { plain: false, signal })).toMatchObject({ kind: 'sent' });
    const [reply] = await until('alice has it', async () => {
      const found = (await servers.mailbox('alice')).filter((each) => each.raw.includes('middle@example.test'));
      return found.length > 0 ? found : undefined;
    });
    const raw = (reply?.raw ?? '').replace(/\r?\n[ \t]+/g, ' ');
    const own = /^Message-ID: +(<gh-\S+>)/im.exec(raw)?.[1];
    const asked = message.replyContext?.['messageId'];
    expect(raw).toContain(`In-Reply-To: ${asked}`);
    expect(raw).toMatch(new RegExp(`References: <start@example.test> +<middle@example.test> +${asked}`));
    expect(raw).toContain('Subject: =?UTF-8?Q?Re=3A_Gr=C3=BC=C3=9Fe?=');
    expect(raw).toContain('Auto-Submitted: auto-replied');
    expect(raw).not.toMatch(/^Bcc:/im);
    // Her mail program keeps the newest id only.
    await servers.deliver(mail('Re: Grüße', { headers: `In-Reply-To: ${own}\n` }));
    const next = await until('her answer is received', () => host.accepted[1]);
    expect(next.threadId).toBe(message.threadId);
    const copy = await until('our blind copy is seen as ours', () => host.refused[0]);
    expect(copy.refusal).toBe('own-message');
  });

  test('the server announces mail (IDLE): it is read long before the next poll; what lay there at the first start is not', async () => {
    const host = new Host();
    await using _ = await open(host, { poll_interval_secs: 1500 });
    await systemClock.sleep(300); // the connection idles now
    await servers.deliver(mail('idle'));
    await until('it is received', () => host.accepted.length === 1);
    expect(host.texts()).toEqual(['[Subject: idle]\ntext']);
    await until('it is marked as read', async () => (await servers.mailbox('bot')).at(-1)?.flags.includes('S'));
  });

  test('mail that another program marked as read while we were away is received', async () => {
    const host = new Host();
    await (await open(host)).stop();
    await servers.deliver(mail('read elsewhere'));
    await servers.doveadm('flags', 'add', '-u', 'bot@example.test', '\\Seen', 'mailbox', 'INBOX', 'all');
    await using _ = await open(host);
    await until('it is received', () => host.texts().includes('[Subject: read elsewhere]\ntext'));
  });

  test('UIDVALIDITY changed: recent mail is offered again and known by its Message-ID, new mail gets through once', async () => {
    const host = new Host();
    const before = await open(host);
    for (const name of ['one', 'two']) await servers.deliver(mail(`before ${name}`));
    await until('both are received', () => host.accepted.length === 2);
    const [{ platformId } = { platformId: '' }] = host.accepted;
    await before.stop();
    await servers.renumber('bot');
    await servers.deliver(mail('after'));
    await using _ = await open(host);
    // dovecot gives the newest mail the lowest new UID here: order says nothing about age after a renumbering
    await until('all are offered', () => host.texts().some((text) => text.includes('after')) && host.offered.length >= 5);
    expect(JSON.parse(host.stored ?? '').uidvalidity).not.toBe(platformId.split(':')[0]);
    const texts = host.texts().filter((text) => /before|after/.test(text));
    expect(texts).toEqual(['[Subject: before one]\ntext', '[Subject: before two]\ntext', '[Subject: after]\ntext']);
  });

  test('a folder that is deleted and made again while we read it is noticed', async () => {
    const user = ['-u', 'bot@example.test'];
    await servers.doveadm('mailbox', 'create', ...user, 'Agent');
    const host = new Host();
    await using _ = await open(host, { mailbox: 'Agent', poll_interval_secs: 1 }, { clock: quickClock() });
    await servers.doveadm('mailbox', 'delete', ...user, 'Agent');
    // dovecot itself brings a folder back that a session has open just then.
    await servers.doveadm('mailbox', 'create', ...user, 'Agent').catch((error: unknown) => {
      if (!String(error).includes('already exists')) throw error;
    });
    await servers.deliver(mail('in the new folder'));
    await servers.doveadm('move', ...user, 'Agent', 'mailbox', 'INBOX', 'subject', 'in the new folder');
    await until('it is received', () => host.texts().includes('[Subject: in the new folder]\ntext'));
  });

  test('A6 a From that postfix let in without a verdict of ours is refused, with our own name forged too', async () => {
    const host = new Host();
    await using _ = await open(host);
    for (const name of ['mx.example.test', 'mx.evil.test']) {
      await servers.submit(mail('pay me').replace('mx.example.test', name), 'mallory@evil.test');
    }
    await until('both are refused', () => host.refused.length === 2);
    expect(host.refused.map((message) => message.refusal)).toEqual(['forged-sender', 'forged-sender']);
    expect(host.accepted).toEqual([]);
  });

  test('F39 60 MB are refused without being fetched, 501 headers and broken MIME stop nothing', async () => {
    const host = new Host();
    const channel = await open(host);
    const line = `${'A'.repeat(76)}\n`;
    await servers.deliver(mail('huge', { body: line.repeat(800_000) }));
    await servers.deliver(mail('headers', { headers: 'X-Filler: y\n'.repeat(500) }));
    await servers.deliver(mail('broken', { headers: 'Content-Type: multipart/mixed; boundary="open\n', body: '--open\n\nx' }));
    await servers.deliver(mail('good'));
    await until('the good one is received', () => host.texts().includes('[Subject: good]\ntext'));
    expect(host.refused.map(({ refusal, chatId }) => [refusal, chatId])).toEqual([
      ['too-large', 'alice@example.test'],
      ['unreadable', 'unknown'],
    ]);
    await channel.stop();
    const out = await until('the session is logged', async () => /.*\bout=(\d+)/s.exec(await servers.imapLog())?.[1]);
    expect(Number(out)).toBeLessThan(300_000);
  });

  test('an attachment that the server never hands over is given up with the signal', async () => {
    const host = new Host();
    await using proxy = await startMailProxy(servers.imapPort);
    await using channel = await open(host, { imap_port: proxy.port, imap_tls: 'none' });
    const body = withFile(1).split('\n\n').slice(1).join('\n\n');
    await servers.deliver(mail('stall', { headers: 'Content-Type: multipart/mixed; boundary=b\n', body }));
    const message = await until('the mail is received', () => host.accepted[0]);
    const [media] = message.media;
    if (!media) throw new Error('no attachment');
    proxy.stallAt(/file 1/);
    const [stop, reason] = [new AbortController(), new Error('/stop')];
    setTimeout(() => stop.abort(reason), 50);
    await expect(channel.download?.(media, stop.signal)).rejects.toBe(reason);
  });

  test('a file is fetched also when the receiving connection ends in the middle of it, as it does when the daemon stops', async () => {
    const host = new Host();
    await using proxy = await startMailProxy(servers.imapPort);
    const intake = new AbortController();
    await using channel = await open(host, { imap_port: proxy.port, imap_tls: 'none' }, { receiving: intake.signal });
    const body = withFile(1).split('\n\n').slice(1).join('\n\n');
    await servers.deliver(mail('s', { headers: 'Content-Type: multipart/mixed; boundary=b\n', body }));
    const media = (await until('the mail is received', () => host.accepted[0])).media[0];
    if (!media) throw new Error('no attachment');
    proxy.cutNextAt(/file 1/);
    const cut = await channel.download?.(media, signal);
    const stopped = channel.download?.(media, signal);
    intake.abort(new Error('channels are stopping'));
    for (const file of [cut, await stopped, await channel.download?.(media, signal)]) {
      const bytes: Uint8Array[] = [];
      for await (const chunk of file?.bytes ?? []) bytes.push(chunk);
      expect(Buffer.concat(bytes).toString().trim()).toBe('file 1');
    }
  });

  test('a mail that breaks every connection that fetches it is skipped, and its neighbours get through', async () => {
    const host = new Host();
    await using proxy = await startMailProxy(servers.imapPort);
    proxy.cutAt(/POISON/);
    // Five minutes, which the failures that count lie apart, are 30 ms.
    const clock = { ...quickClock(50), monotonic: () => systemClock.monotonic() * 10_000 };
    await using _ = await open(host, { imap_port: proxy.port, imap_tls: 'none' }, { clock });
    for (const body of ['before it', 'POISON', 'behind it']) await servers.deliver(mail('s', { body }));
    await until('the last one is received', () => host.texts().includes('[Subject: s]\nbehind it'));
    expect(host.texts()).toEqual(['[Subject: s]\nbefore it', '[Subject: s]\nbehind it']);
    expect(host.refused.map(({ refusal }) => refusal)).toEqual(['unreadable']);
  });

  test('F8 F37 a lost reply of the SMTP server is unknown, found afterwards, and a resend is the same mail', async () => {
    const host = new Host();
    await using proxy = await startMailProxy(servers.smtpPort);
    await using channel = await open(host, { smtp_port: proxy.port, smtp_tls: 'none' });
    await servers.deliver(mail('lost reply'));
    const part = answer(await until('the mail is received', () => host.accepted[0]));
    expect(await channel.find?.(part, signal)).toBe('absent');
    proxy.cutNextReplyTo('\r\n.\r\n');
    expect(await channel.send(part, { plain: false, signal })).toMatchObject({ kind: 'unknown' });
    const found = await until('the copy arrived', async () => {
      const result = await channel.find?.(part, signal);
      return result === 'absent' ? undefined : result;
    });
    expect(await channel.send(part, { plain: false, signal })).toEqual({ kind: 'sent', platformId: found.platformId });
    expect(host.states.at(-1)?.state).toBe('healthy');
  });

  test('F33 a lost connection is opened again by itself, and nothing is missed meanwhile', async () => {
    const host = new Host();
    await using _ = await open(host, {}, { clock: quickClock() });
    await servers.restartImap();
    await servers.deliver(mail('after the restart'));
    await until('it is received', () => host.texts().includes('[Subject: after the restart]\ntext'));
    expect(host.states.map(({ state }) => state)).toContain('degraded');
    expect(host.states.at(-1)?.state).toBe('healthy');
  });

  test('F1 nothing moves while the host is busy or cannot write: the same batch is offered again', async () => {
    const host = new Host();
    await using _ = await open(host, {}, { clock: quickClock() });
    host.answers.push({ kind: 'busy', retryAfterMs: 10 }, new Error('disk full'));
    await servers.deliver(mail('patience'));
    const received = await until('it is received', () => host.accepted[0]);
    // A copy that an earlier test sent may come only now, and is offered beside it.
    expect(host.offered.filter((id) => id === received.platformId)).toHaveLength(3);
    expect(host.accepted).toEqual([received]);
    await until('it is well again', () => host.states.at(-1)?.state === 'healthy');
  });

  test('F34 a wrong password is reported with what to check; so is a certificate nobody vouches for', async () => {
    const wrong = new Host();
    await using _refused = await open(wrong, {}, { password: 'hunter2' });
    expect(wrong.states.at(-1)).toMatchObject({ state: 'down', detail: expect.stringMatching(/^GH1501.*app password/) });
    expect(JSON.stringify(wrong.states)).not.toContain('hunter2');
    const untrusted = new Host();
    await using _ = await open(untrusted, { tls_ca_file: undefined });
    expect(untrusted.states.at(-1)).toMatchObject({
      state: 'down',
      detail: expect.stringMatching(/GH1502.*certificate.*tls_ca_file/),
    });
  });

  test('start ends with the reason of its signal; stop works twice and at the same time', async () => {
    const host = new Host();
    const channel = await open(host);
    await Promise.all([channel.stop(), channel.stop()]);
    await channel.stop();
    expect(host.states.at(-1)?.state).toBe('stopped');
    const reason = new Error('shutdown');
    await expect(channel.start(host, AbortSignal.abort(reason))).rejects.toBe(reason);
    const aborted = { plain: false, signal: AbortSignal.abort(reason) };
    const part = {
      key: 'k',
      channel: 'email',
      account: 'bot@example.test',
      chatId: 'alice@example.test',
      ordinal: 0,
      count: 1,
      text: 'x',
    };
    expect(await channel.send(part, aborted)).toMatchObject({ kind: 'retry' });
    expect(await channel.send({ ...part, chatId: 'a@b.test, c@d.test' }, { plain: false, signal })).toMatchObject({
      kind: 'refused',
    });
    await expect(channel.download?.({ kind: 'document', ref: 'gone' }, signal)).rejects.toMatchObject({ code: 'GH1505' });
  });

  test('without a copy of its own the channel says that its sends are blind', async () => {
    await using blind = await open(new Host(), { bcc_self: false });
    await using sent = await open(new Host(), { sent_mailbox: 'Sent' });
    await using copied = await open(new Host());
    expect([blind.sendClass, sent.sendClass, copied.sendClass]).toEqual(['blind', 'find', 'find']);
  });
});
