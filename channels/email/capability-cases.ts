/** What people can do by mail, played against dovecot and postfix. For tests. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { InboundMessage, MediaKind, OutboundPart } from '../../src/core/message.ts';
import { startMailProxy } from '../../src/simulator/email/proxy.ts';
import { MAIL_PASSWORD, type MailServers, mailServersMissing, startMailServers } from '../../src/simulator/email/servers.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { outbound, tempDir, until } from '../../src/testing/fakes.ts';
import type { CapabilityCases } from '../capabilities.ts';
import { channel as descriptor } from './index.ts';

let starting: Promise<MailServers> | undefined;
let ids = 0;

async function scene(override: Readonly<Record<string, unknown>> = {}) {
  starting ??= startMailServers();
  const servers = await starting;
  const settings = descriptor.settings.parse({
    ...{ imap_host: servers.host, imap_port: servers.imapsPort, smtp_host: servers.host, smtp_port: servers.smtpPort },
    ...{ tls_ca_file: servers.caFile, from_address: 'bot@example.test', authserv_id: 'mx.example.test' },
    ...{ max_replies_per_sender_per_hour: 1_000, find_grace_secs: 1, ...override },
  });
  const secret = (variable: string) => (variable === 'EMAIL_USERNAME' ? 'bot@example.test' : MAIL_PASSWORD);
  const channel = await descriptor.create(settings, channelDeps({ name: 'email', secret }));
  const host = new TestHost();
  const { signal } = new AbortController();
  await channel.start(host, signal);
  ids += 1;
  const id = `case${ids}@example.test`;
  const head = (headers: readonly string[]) => [
    'Authentication-Results: mx.example.test; dmarc=pass header.from=example.test',
    'From: Ada <alice@example.test>',
    'To: bot@example.test',
    ...(headers.some((line) => line.startsWith('Message-ID')) ? [] : [`Message-ID: <${id}>`]),
  ];
  return {
    servers,
    channel,
    host,
    signal,
    id,
    deliver: (headers: readonly string[], ...body: readonly string[]) =>
      servers.deliver([...head(headers), ...headers, '', ...body, ''].join('\r\n')),
    received: (): Promise<InboundMessage> =>
      until('the mail arrived', () => host.accepted.find(({ secondaryId = '' }) => secondaryId.includes(id))),
    send: async (part: Partial<OutboundPart>) => {
      const whole = outbound({ channel: 'email', account: 'bot@example.test', chatId: 'alice@example.test', key: id, ...part });
      return { whole, result: await channel.send(whole, { plain: false, signal }) };
    },
    /** The newest mail in her box that holds these words. */
    arrived: (words: string) =>
      until('she has it', async () =>
        (await servers.mailbox('alice')).map(({ raw }) => raw).findLast((raw) => raw.includes(words)),
      ),
    [Symbol.asyncDispose]: () => channel.stop(),
  };
}

type Scene = Awaited<ReturnType<typeof scene>>;

const play = (run: (at: Scene) => Promise<void>) => async (): Promise<void> => {
  await using at = await scene();
  await run(at);
};

const TYPES: Readonly<Record<MediaKind, readonly [string, string]>> = {
  photo: ['image/jpeg', 'p.jpg'],
  voice: ['audio/ogg', 'v.ogg'],
  audio: ['audio/mpeg', 'a.mp3'],
  video: ['video/mp4', 'm.mp4'],
  document: ['text/csv', 'd.csv'],
};

/** A mail has attachments, which are of a type and not of a kind: a recording is audio. */
function fileIn(kind: MediaKind, seenAs: MediaKind, count = 1) {
  return play(async ({ deliver, received, channel, signal }) => {
    const [mime, name] = TYPES[kind];
    const files = Array.from({ length: count }, (_, n) => [
      '--b',
      `Content-Type: ${mime}`,
      `Content-Disposition: attachment; filename=${n}${name}`,
      '',
      `bytes ${n}`,
    ]);
    const head = ['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=b', 'Subject: s'];
    await deliver(head, '--b', 'Content-Type: text/plain', '', 'look', ...files.flat(), '--b--');
    const { media } = await received();
    expect(media.map((ref) => ref.kind)).toEqual(Array.from({ length: count }, () => seenAs));
    for (const [n, ref] of media.entries()) {
      const parts: Uint8Array[] = [];
      for await (const part of (await channel.download?.(ref, signal))?.bytes ?? []) parts.push(part);
      expect(Buffer.concat(parts).toString().trim()).toBe(`bytes ${n}`);
    }
  });
}

function fileOut(kind: MediaKind) {
  return play(async ({ send, arrived, id }) => {
    await using dir = await tempDir();
    const [mime, name] = TYPES[kind];
    const path = join(dir.path, name);
    await writeFile(path, 'the bytes');
    const { result } = await send({ text: `here ${id}`, file: { path, name, mime, kind, bytes: 9 } });
    expect(result).toMatchObject({ kind: 'sent' });
    expect(await arrived(`here ${id}`)).toMatch(new RegExp(`Content-Type: ${mime}[^]*filename="?${name}`));
  });
}

const reply = { inReplyTo: 'a mail' };
const SENT_IS_SENT = 'a mail that was sent stays as it was sent';

export const cases: CapabilityCases = {
  missing: mailServersMissing(),
  'text in': play(async ({ deliver, received }) => {
    await deliver(['Subject: greeting'], 'hello there');
    expect(await received()).toMatchObject({
      kind: 'message',
      senderId: 'alice@example.test',
      text: expect.stringContaining('hello there'),
    });
  }),
  'text out': play(async ({ send, arrived, id }) => {
    expect((await send({ text: `**bold** ${id}` })).result).toMatchObject({ kind: 'sent' });
    const raw = await arrived(id);
    expect(raw).toContain('multipart/alternative');
    expect(raw).toContain('<strong>bold</strong>');
  }),
  'photo in': fileIn('photo', 'photo'),
  'photo out': fileOut('photo'),
  'voice in': fileIn('voice', 'audio'),
  'voice out': fileOut('voice'),
  'audio in': fileIn('audio', 'audio'),
  'audio out': fileOut('audio'),
  'document in': fileIn('document', 'document'),
  'document out': fileOut('document'),
  'album in': fileIn('photo', 'photo', 3),
  'thread in': play(async ({ deliver, received, host }) => {
    const thread = (subject: string) => [`Subject: Re: ${subject}`, 'References: <root@example.test> <mid@example.test>'];
    await deliver(thread('plans'), 'more');
    const { threadId } = await received();
    await deliver([...thread('plans, changed'), 'Message-ID: <another@example.test>'], 'and more');
    const next = await until('the next one arrived', () => host.accepted.find(({ text }) => text.includes('and more')));
    expect([threadId, next.threadId]).toEqual([expect.stringMatching(/./), threadId]);
  }),
  'thread out': play(async ({ deliver, received, send, arrived, id }) => {
    await deliver(['Subject: plans', 'References: <root@example.test>'], 'more');
    const { threadId, replyContext } = await received();
    await send({ text: `answer ${id}`, ...(threadId ? { threadId } : {}), ...(replyContext ? { replyContext } : {}) });
    const raw = (await arrived(`answer ${id}`)).replace(/\r?\n[ \t]+/g, ' ');
    expect(raw).toMatch(new RegExp(`^References: <root@example.test> +<${id}>`, 'm'));
    expect(raw).toMatch(/^Subject: Re: plans/m);
  }),
  'threads of its own': play(async ({ deliver, received, send, arrived, id }) => {
    await deliver(['Subject: plans'], 'shall we?');
    const { threadId, replyContext, ...message } = await received();
    expect(message).toMatchObject({ startsThread: true });
    await send({ text: `answer ${id}`, ...(threadId ? { threadId } : {}), ...(replyContext ? { replyContext } : {}) });
    expect(await arrived(`answer ${id}`)).toMatch(new RegExp(`^In-Reply-To: <${id}>`, 'm'));
  }),
  'reply in': play(async ({ deliver, received }) => {
    const attribution = 'On Mon, 2 Nov 2026 at 10:12, Bot <bot@example.test> wrote:';
    await deliver(['Subject: Re: s', 'In-Reply-To: <other@example.test>'], 'yes', '', attribution, '> what we said');
    const message = await received();
    expect(message.text).toContain('yes');
    expect(message.text).not.toContain('what we said');
  }),
  'reply out': play(async ({ deliver, received, send, arrived, id }) => {
    await deliver(['Subject: s'], 'question');
    const { replyContext } = await received();
    await send({ text: `reply ${id}`, ...(replyContext ? { replyContext } : {}) });
    expect((await arrived(`reply ${id}`)).replace(/\r?\n[ \t]+/g, ' ')).toMatch(new RegExp(`^In-Reply-To: <${id}>`, 'm'));
  }),
  'earlier messages': 'a mail repeats what it answers; the rest of a thread is its session',
  'reaction in': 'mail has no reactions that programs agree on',
  'reaction out': 'mail has no reactions that programs agree on',
  'edit in': SENT_IS_SENT,
  'delete in': SENT_IS_SENT,
  'edit out': SENT_IS_SENT,
  typing: 'nobody waits in front of a mail',
  buttons: 'choices are typed; the text lists them',
  'command in': play(async ({ deliver, received }) => {
    await deliver([], '/help');
    expect((await received()).text.trim()).toBe('/help');
  }),
  'select menu': 'choices are typed; the text lists them',
  'command answers for one person': 'an answer goes to who wrote the mail, whatever it says',
  'assistant pane': 'the pane is a feature of Slack',
  shortcuts: 'mail programs have no actions that an address adds',
  'mention in a group': 'a mail goes to addresses; ours is one of them or it does not come',
  async 'catch-up after a disconnect'() {
    starting ??= startMailServers();
    await using proxy = await startMailProxy((await starting).imapPort);
    await using at = await scene({ imap_port: proxy.port, imap_tls: 'none' });
    proxy.cutNextAt(/EXISTS/);
    await at.deliver(['Subject: s'], 'while it was away');
    expect((await at.received()).text).toContain('while it was away');
  },
  'second key': play(async ({ deliver, received, id }) => {
    await deliver(['Subject: s'], 'once');
    expect((await received()).secondaryId).toContain(id);
  }),
  'proof of a send': play(async ({ send, channel, signal, id }) => {
    const { whole, result } = await send({ text: `proof ${id}`, replyContext: reply });
    expect(result.kind).toBe('sent');
    const found = await until('the copy is there', async () => {
      const answer = await channel.find?.(whole, signal);
      return answer === 'absent' ? undefined : answer;
    });
    expect(found).toMatchObject({ platformId: expect.any(String) });
  }),
  async close() {
    await (await starting)?.stop();
  },
};
