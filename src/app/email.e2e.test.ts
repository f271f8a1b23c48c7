// Mail end to end: real dovecot and postfix, a scripted model, the real program.
import { execFileSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAIL_PASSWORD, type MailServers, mailServersMissing, startMailServers } from '../simulator/email/servers.ts';
import { filesHolding } from '../testing/bytes-on-disk.ts';
import { startChild } from '../testing/child-daemon.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { callPieces, messagesOf, startModelServer, stream, textPieces, userText } from '../testing/model-server.ts';
import { needs } from '../testing/needs.ts';

const missing = mailServersMissing();
if (missing !== undefined) {
  if (process.env['CI']) throw new Error(`the mail servers are missing: ${missing}`);
  process.stderr.write(`src/app/email.e2e.test.ts skipped: ${missing}\n`);
}

const THREADS = 10;
const PER_THREAD = 5;
const RESULT = 'Authentication-Results: mx.example.test; dmarc=pass header.from=example.test';
const id = (thread: number, n: number) => `<q-${thread}-${n}@example.test>`;

/** The n-th mail of a thread, which refers to those before it as a mail program would, with a file. */
function mail(thread: number, n: number): string {
  const earlier = Array.from({ length: n }, (_, index) => id(thread, index));
  const text = n === 0 ? `please return the file of thread ${thread}` : `question ${n} of thread ${thread}`;
  return [
    RESULT,
    'From: Alice <alice@example.test>',
    'To: bot@example.test',
    `Subject: ${n === 0 ? '' : 'Re: '}Thread ${thread}`,
    `Message-ID: ${id(thread, n)}`,
    ...(n === 0 ? [] : [`In-Reply-To: ${earlier.at(-1)}`, `References: ${earlier.join(' ')}`]),
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    ...['', '--b', 'Content-Type: text/plain', '', text],
    ...['--b', 'Content-Type: text/csv', `Content-Disposition: attachment; filename=data-${n}.csv`, '', `thread;${thread};${n}`],
    '--b--',
    '',
  ].join('\r\n');
}

type Call = { readonly name: string; readonly arguments: object };

/** The owner's, whom the mail server knows. */
const order = (n: number) =>
  [
    RESULT,
    'From: alice@example.test',
    'To: bot@example.test',
    `Message-ID: <order-${n}@example.test>`,
    'Subject: Do it',
    '',
    'please do it',
  ]
    .join('\r\n')
    .concat('\r\n');

/** A header of a raw mail, unfolded. */
function header(raw: string, name: string): string {
  const head = raw.slice(0, raw.search(/\r?\n\r?\n/)).replace(/\r?\n[ \t]+/g, ' ');
  return new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1] ?? '';
}

describe.skipIf(missing !== undefined)('through dovecot and postfix', () => {
  let servers: MailServers;
  beforeAll(async () => {
    servers = await startMailServers();
  });
  afterAll(() => servers.stop());

  /**
   * `config` is laid over the config, and `calls` are what the model asks for, one after another, when it is
   * told to.
   */
  async function scene({ config: more, calls = [] }: { readonly config?: object; readonly calls?: readonly Call[] } = {}) {
    const model = await startModelServer({
      script: (request) => {
        if (userText(request).includes('please do it')) {
          const results = messagesOf(request).filter(({ role }) => role === 'tool');
          const call = calls[results.length];
          return stream(call ? callPieces(call) : textPieces(`it came to: ${results.at(-1)?.content}`));
        }
        const path = /: (uploads\/\S+) \(/.exec(userText(request))?.[1];
        if (!userText(request).includes('please return') || path === undefined) return undefined;
        if (messagesOf(request).at(-1)?.role === 'tool') return stream(textPieces('here it is'));
        return stream(callPieces({ name: 'send_file', arguments: { file_path: path } }));
      },
    });
    const dir = await tempDir();
    const settings = {
      imap_host: servers.host,
      imap_port: servers.imapsPort,
      smtp_host: servers.host,
      smtp_port: servers.smtpPort,
      tls_ca_file: servers.caFile,
      from_address: 'bot@example.test',
      authserv_id: 'mx.example.test',
      poll_interval_secs: 1,
      find_grace_secs: 2,
      max_replies_per_sender_per_hour: 1_000,
    };
    const owner = [{ channel: 'email', chat_id: 'alice@example.test', sender_ids: ['alice@example.test'] }];
    const gateway = {
      owner,
      channels: [{ type: 'email', allowed_senders: ['alice@example.test'], settings }],
      http: { port: 0 },
    };
    const config = { provider: 'openai', model: 'm', base_url: `${model.url}/v1`, api_key_env: 'TEST_KEY', gateway, ...more };
    const env = { TEST_KEY: 'sk', EMAIL_USERNAME: 'bot@example.test', EMAIL_PASSWORD: MAIL_PASSWORD };
    const options = { dir: dir.path, config, env };
    return {
      model,
      dir: dir.path,
      start: () => startInline(options),
      dying: (killAt: string) => startChild({ ...options, killAt }),
      async [Symbol.asyncDispose]() {
        await model[Symbol.asyncDispose]();
        await dir[Symbol.asyncDispose]();
      },
    };
  }

  test('50 mails in 10 threads with attachments: each reply in its thread, and a restart in the middle repeats nothing', async () => {
    await using at = await scene();
    const threads = Array.from({ length: THREADS }, (_, thread) => thread);
    const deliver = (n: number) => Promise.all(threads.map((thread) => servers.deliver(mail(thread, n))));
    {
      await using first = await at.start();
      await first.ready();
      await deliver(0);
      await deliver(1);
      await first.settled(20);
      await deliver(2);
      // Stopped while mails of this round wait, run and leave.
      await until('some are answered', async () => (await first.status()).journal.inbox.DONE >= 23);
      expect((await first.stop()).code).toBe(0);
    }
    await deliver(3);
    await using second = await at.start();
    await deliver(4);
    const { journal } = await second.settled(THREADS * PER_THREAD);
    expect(journal.inbox).toMatchObject({ DONE: 50, DEAD: 0 });
    expect(journal.outbox).toMatchObject({ UNKNOWN: 0, DEAD: 0 });
    const replies = await until('all replies are there', async () => {
      const mails = await servers.mailbox('alice');
      return mails.length >= 60 ? mails : undefined;
    });
    const answered = replies.map(({ raw }) => header(raw, 'In-Reply-To')).sort();
    const asked = threads.flatMap((thread) => Array.from({ length: PER_THREAD }, (_, n) => id(thread, n))).sort();
    // A returned file is a mail of its own, behind the text it belongs to.
    const returned = threads.map((thread) => id(thread, 0));
    expect(answered).toEqual([...asked, ...returned].sort());
    for (const { raw } of replies) {
      const [, thread = '', n = ''] = /<q-(\d+)-(\d+)@/.exec(header(raw, 'In-Reply-To')) ?? [];
      const earlier = Array.from({ length: Number(n) + 1 }, (_, index) => id(Number(thread), index));
      expect(header(raw, 'References')).toContain(earlier[0]);
      expect(header(raw, 'References').endsWith(earlier.at(-1) ?? '')).toBe(true);
      expect(header(raw, 'Subject')).toBe(`Re: Thread ${thread}`);
    }
    const attached = replies.filter(({ raw }) => /^Content-Disposition: attachment/im.test(raw)).map(({ raw }) => raw);
    expect(attached).toHaveLength(THREADS);
    for (const thread of threads) {
      const content = Buffer.from(`thread;${thread};0`).toString('base64').slice(0, 12);
      expect(attached.filter((raw) => raw.includes(content) || raw.includes(`thread;${thread};0`))).toHaveLength(1);
    }
    const files = await readdir(join(second.dataDir, 'workspaces'), { recursive: true });
    const uploads = files.filter((name) => /\/uploads\/[0-9a-f]+\.csv$/.test(name));
    const contents = await Promise.all(uploads.map((name) => readFile(join(second.dataDir, 'workspaces', name), 'utf8')));
    expect(new Set(contents.map((text) => text.trim())).size).toBe(50);
    // One conversation per thread: ten sessions, and no prompt with another thread's words.
    for (const request of at.model.requests) {
      const mentioned = new Set(messagesOf(request).flatMap(({ content }) => /thread (\d+)/i.exec(content)?.[1] ?? []));
      expect(mentioned.size).toBeLessThanOrEqual(1);
    }
  });

  test('A1 a stranger by mail gets a pairing code, no model call, and not one word of theirs is kept', async () => {
    await using at = await scene();
    await using daemon = await at.start();
    await daemon.ready();
    const before = (await servers.mailbox('carol')).length;
    const stranger = mail(0, 0)
      .replace('From: Alice <alice@', 'From: Carol <carol@')
      .replace(/^Subject: .*$/m, 'Subject: STRANGE SUBJECT')
      .replace('please return the file', 'STRANGE WORDS')
      .replace('filename=data-0.csv', 'filename=STRANGE-NAME.csv')
      .replaceAll('q-0-0', 'stranger');
    await servers.deliver(stranger);
    await daemon.settled(1);
    const mails = await until('the code arrived', async () => {
      const all = await servers.mailbox('carol');
      return all.length > before ? all : undefined;
    });
    expect(mails.at(-1)?.raw).toMatch(/pair approve [A-Z0-9]{8}/);
    expect(at.model.requests).toEqual([]);
    await daemon.stop();
    expect(await filesHolding(daemon.dataDir, ['STRANGE'])).toEqual([]);
    expect(daemon.stderr()).not.toContain('STRANGE');
  });

  test('A6 a forged sender never reaches the model, whichever way the mail comes', async () => {
    await using at = await scene();
    await using daemon = await at.start();
    await daemon.ready();
    const forged = (headers: string) =>
      `${headers}From: Alice <alice@example.test>\r\nTo: bot@example.test\r\nSubject: do it\r\n\r\nFORGED WORDS\r\n`;
    await servers.submit(forged(`${RESULT}\r\n`), 'mallory@evil.test');
    await servers.submit(forged(''), 'alice@example.test');
    await servers.deliver(forged('Authentication-Results: evil.test; dmarc=pass header.from=example.test\r\n'));
    await servers.deliver(forged('Authentication-Results: mx.example.test; dmarc=fail header.from=example.test\r\n'));
    const refused = await until('all are refused', async () => {
      const { refused: counts } = (await daemon.status()).journal;
      return counts.find(({ reason, count }) => reason === 'forged-sender' && count >= 4);
    });
    expect(refused).toMatchObject({ channel: 'email', count: 4 });
    expect(at.model.requests).toHaveLength(0);
    await daemon.stop();
    expect(await filesHolding(daemon.dataDir, ['FORGED WORDS'])).toEqual([]);
  });

  const newIn = async (user: 'alice' | 'carol', seen: number) =>
    await until(`a mail reaches ${user}`, async () => {
      const mails = (await servers.mailbox(user)).slice(seen);
      return mails.length > 0 ? mails.map(({ raw }) => raw) : undefined;
    });

  const LETTER = {
    to: ['carol@example.test'],
    cc: ['alice@example.test'],
    subject: 'Zahlen für *März*',
    body: 'Dear Carol,\n\nhere are **the numbers**.',
    attachments: ['out/numbers.json'],
  };
  const WRITE = { name: 'write_file', arguments: { path: 'out/numbers.json', content: '{"march": 17}\n' } };
  const FULL = { tool_policy: { mode: 'full' } };

  test('a mail of the agent begins a conversation: subject, text, copy and file arrive, and the reply comes in as mail', async (context) => {
    needs(context, 'file', '--version');
    await using at = await scene({ config: FULL, calls: [WRITE, { name: 'send_email', arguments: LETTER }] });
    await using daemon = await at.start();
    await daemon.ready();
    const seen = { carol: (await servers.mailbox('carol')).length, alice: (await servers.mailbox('alice')).length };
    await servers.deliver(order(1));
    const [raw = ''] = await newIn('carol', seen.carol);
    const parsed = await PostalMime.parse(raw);
    expect([parsed.subject, parsed.inReplyTo, parsed.references]).toEqual([LETTER.subject, undefined, undefined]);
    expect([parsed.to, parsed.cc, parsed.from].flat().map((one) => one?.address)).toEqual([
      ...LETTER.to,
      ...LETTER.cc,
      'bot@example.test',
    ]);
    expect(parsed.text?.trim()).toBe(LETTER.body);
    expect(parsed.html).toContain('<strong>the numbers</strong>');
    expect(header(raw, 'Auto-Submitted')).toBe('auto-generated');
    const [file] = parsed.attachments;
    expect(file?.filename).toBe('numbers.json');
    const path = join(at.dir, 'arrived.json');
    await writeFile(path, new Uint8Array(file?.content as ArrayBuffer));
    expect(execFileSync('file', ['--brief', path], { encoding: 'utf8' })).toContain('JSON');
    // The copy, and the answer to the order.
    const copies = await until('both reach alice', async () => {
      const mails = (await servers.mailbox('alice')).slice(seen.alice);
      return mails.length === 2 ? mails.map((mail) => mail.raw) : undefined;
    });
    expect(copies.map((one) => header(one, 'Message-ID')).includes(parsed.messageId ?? '')).toBe(true);
    expect(
      copies.some((one) => one.replace(/=\r?\n/g, '').includes('on its way to carol@example.test, alice@example.test.')),
    ).toBe(true);
    const reply = [RESULT, 'From: carol@example.test', 'To: bot@example.test', 'Message-ID: <back@example.test>'];
    await servers.deliver([...reply, `In-Reply-To: ${parsed.messageId}`, 'Subject: Re: Zahlen', '', 'thanks', ''].join('\r\n'));
    // A stranger as before: that the agent wrote first lets no person in.
    await until('she is told a code', async () =>
      (await servers.mailbox('carol')).slice(seen.carol).some(({ raw: one }) => one.includes('pair approve')),
    );
  });

  test('F7 killed before the commit of a mail that the agent begins, and after it: it arrives once', async () => {
    const { attachments: _, cc: __, ...letter } = LETTER;
    await using at = await scene({ config: FULL, calls: [{ name: 'send_email', arguments: letter }] });
    const seen = (await servers.mailbox('carol')).length;
    for (const point of ['enqueue:before', 'enqueue:after']) {
      await using dying = await at.dying(point);
      if (point === 'enqueue:before') await dying.ready().then(() => servers.deliver(order(2)));
      const { signal } = await dying.ended;
      expect(`${point} ${signal} ${signal ? '' : dying.stderr()}`).toBe(`${point} SIGKILL `);
    }
    await using last = await at.start();
    const { journal } = await last.settled(1);
    expect(journal.outbox).toMatchObject({ SENT: 2, UNKNOWN: 0, DEAD: 0 });
    expect(await newIn('carol', seen)).toHaveLength(1);
  });

  test('a mail that one of its readers cannot get reaches none, and the person who asked for it is told', async () => {
    const letter = { ...LETTER, cc: ['nobody@example.test'], attachments: [] };
    await using at = await scene({ config: FULL, calls: [{ name: 'send_email', arguments: letter }] });
    const seen = { carol: (await servers.mailbox('carol')).length, alice: (await servers.mailbox('alice')).length };
    await using daemon = await at.start();
    await daemon.ready();
    await servers.deliver(order(3));
    await until('alice is told', async () =>
      (await servers.mailbox('alice')).slice(seen.alice).some(({ raw }) => raw.includes('could not be delivered (GH1601)')),
    );
    expect(await servers.mailbox('carol')).toHaveLength(seen.carol);
  });
});
