import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { markedWords } from '../../../src/lib/marks.ts';
import { leastCpuMs } from '../../../src/testing/cpu-time.ts';
import { htmlToLines } from './html-text.ts';
import { type InboundOptions, type MailFacts, toInbound } from './inbound.ts';

const OPTIONS: InboundOptions = {
  channel: 'email',
  account: 'bot@example.test',
  trustFrom: false,
  authservId: 'mx.example.test',
  maxBodyChars: 10_000,
  maxFileBytes: 20_000_000,
};
const FACTS: MailFacts = { uidValidity: '7', uid: 42, receivedAt: 1_700_000_000_000, size: 1 };

const fixture = (path: string) => readFileSync(new URL(`../fixtures/${path}`, import.meta.url));
const read = (name: string, options = OPTIONS) => toInbound(fixture(`accepted/${name}.eml`), FACTS, options);
const parse = (raw: string | Buffer, options = OPTIONS) => toInbound(Buffer.from(raw), FACTS, options);

const HEAD = 'Authentication-Results: mx.example.test; dmarc=pass header.from=example.test\nFrom: alice@example.test\n';

const refusedFixtures = readdirSync(new URL('../fixtures/refused/', import.meta.url)).map((file) => {
  const [reason = '', name = ''] = file.replace('.eml', '').split('--');
  const attack = reason === 'forged-sender' ? 'A6' : reason === 'automatic-mail' ? 'A5' : 'F39';
  return { file, reason, title: `${attack} ${name.replaceAll('-', ' ')}: refused as ${reason}` };
});

test.each(refusedFixtures)('$title, without content', async ({ file, reason }) => {
  const message = await toInbound(fixture(`refused/${file}`), FACTS, OPTIONS);
  expect(message).toMatchObject({ refusal: reason, text: '', media: [], platformId: '7:42' });
  expect(message).not.toHaveProperty('secondaryId', expect.stringContaining('mid:'));
});

/** Work, not time: what else the machine does must not fail a test. */
async function cpuMs(task: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await task();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

test('A45 twice the links on one line of HTML take twice the time', async () => {
  const page = (links: number) => '<a href=http://x>a</a>'.repeat(links);
  const [few, many] = [page(2_000), page(16_000)];
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 8; round += 1) least = Math.min(least, await cpuMs(() => htmlToLines(few)));
  // Eight times the input: 8 where time grows with it, 64 where it grows with its square.
  expect(leastCpuMs(24 * least, () => htmlToLines(many))).toBeLessThan(24 * least);
});

test('A45 a mail of 200,000 lines lets others have their turn while it is read', async () => {
  let turns = 0;
  let reading = true;
  const other = () => {
    turns += 1;
    if (reading) setImmediate(other);
  };
  setImmediate(other);
  const { refusal } = await parse(`${HEAD}Subject: s\n\n${'x\n'.repeat(200_000)}`);
  reading = false;
  expect(refusal).toBeUndefined();
  expect(turns).toBeGreaterThan(200);
});

test('A5 the body of a mail beyond the cap is never read', async () => {
  // Read, it would be refused as unreadable.
  const mail = `${HEAD}Subject: s\nMessage-ID: <a@x>\nReferences: <r@x>\n\n${'\n'.repeat(400_001)}`;
  const asked: unknown[] = [];
  const message = await toInbound(Buffer.from(mail), FACTS, OPTIONS, (place) => {
    asked.push(place);
    return false;
  });
  expect(message).toMatchObject({ refusal: 'loop-cap', text: '', chatId: 'alice@example.test' });
  const { chatId, threadId } = await parse(mail.trimEnd());
  expect(asked).toEqual([{ chatId, threadId, platformId: '7:42', timestamp: FACTS.receivedAt }]);
});

test('of a page of HTML without end the beginning is read, and the agent is told', async () => {
  const { text } = await parse(`${HEAD}Content-Type: text/html\n\n<p>begin</p>${'<i></i>'.repeat(300_000)}<p>end</p>`);
  expect(text).toBe('begin\n[mail shortened: the first 2000000 of 2100023 characters of HTML]');
});

test('the From forms that people really have are read', async () => {
  const forms = {
    'alice@example.test': 'alice@example.test',
    '<alice@example.test>': 'alice@example.test',
    'Alice Liddell <Alice@Example.Test>': 'Alice Liddell',
    '"Liddell, Alice (at work) <x@y>" <alice@example.test>': 'Liddell, Alice (at work) <x@y>',
    '"a \\" b" <alice@example.test>': 'a " b',
    '=?utf-8?q?Al=C3=ADce=2C_x=40y?= <alice@example.test>': 'Alíce, x@y',
    'alice@example.test (Alice Liddell)': 'Alice Liddell',
    "O'Hara \n <alice@example.test>": "O'Hara",
  };
  for (const [from, senderName] of Object.entries(forms)) {
    const message = await parse(`${HEAD.replace('alice@example.test', from)}Subject: s\n\nx`);
    expect(message, from).toMatchObject({ chatId: 'alice@example.test', senderName });
    expect(message.refusal, from).toBeUndefined();
  }
});

test('a look-alike of another script is another sender', async () => {
  const message = await parse(`${HEAD.replace('alice', '\u0430lice')}Subject: s\n\nx`);
  expect(message.senderId).toBe('\u0430lice@example.test');
});

test('ids that are no ids are left out, and a chain of any length leaves a reply that servers take', async () => {
  const control = await parse(`${HEAD}Subject: s\nMessage-ID: <a\u0001@x>\nReferences: <b\u000b@x> <c\u00e9@x> <d@x>\n\nx`);
  expect(control.replyContext).toEqual({ subject: 's', references: ['<d@x>'] });
  const ids = Array.from({ length: 60 }, (_, index) => `<${'r'.repeat(880)}${index}@x>`);
  const long = await parse(`${HEAD}Subject: s\nMessage-ID: <${'m'.repeat(950)}@x>\nReferences: ${ids.join('\n ')}\n\nx`);
  const references = long.replyContext?.['references'] as string[];
  expect(references[0]).toBe(ids[0]);
  expect(references.at(-1)).toBe(ids.at(-1));
  expect(references.join(' ').length).toBeLessThan(8_000);
});

test('an unauthenticated From is believed only when the operator said so', async () => {
  const raw = fixture('refused/forged-sender--no-result.eml');
  expect(await toInbound(raw, FACTS, { ...OPTIONS, trustFrom: true })).toMatchObject({
    chatId: 'alice@example.test',
    text: '[Subject: hello]\ntext',
  });
  expect((await toInbound(raw, FACTS, OPTIONS)).refusal).toBe('forged-sender');
});

test('every fixture of a refused mail is accepted once its cause is gone', async () => {
  expect((await parse(`${HEAD}Subject: hello\nMessage-ID: <m1@example.test>\n\ntext`)).refusal).toBeUndefined();
});

test.each([
  ['Proton Mail', '12345678:user:proton'],
  // Of mails on public lists, as their senders' servers wrote it.
  ['Fastmail', 'i56a14606:Fastmail'],
  ['Zoho Mail', `rr0801122c5bf8078baac8c2ba80f5e678:zu08011227a937440576d65831f7a40fee:${'\n '}rf0801122ac577d872:ZohoMail`],
])('a person who writes with %s is no sender of campaigns', async (_provider, id) => {
  const refusalOf = async (stated: string) => (await parse(`${HEAD}Subject: s\nFeedback-ID: ${stated}\n\nx`)).refusal;
  expect(await refusalOf(id)).toBeUndefined();
  for (const other of ['4711:campaign:shop:sender', `4711:${id}`, `${id}:sender`]) {
    expect(await refusalOf(other), other).toBe('automatic-mail');
  }
});

test('SPF or DKIM of the From domain or its parent is enough where DMARC has no verdict', async () => {
  const results = [
    'dkim=pass header.d=example.test',
    'dkim=pass header.i=@example.test',
    'spf=pass smtp.mailfrom=x@example.test',
    'spf = pass smtp.mailfrom = example.test',
  ];
  for (const result of results) {
    const top = `Authentication-Results: "mx.example.test" 1; dmarc=none; ${result}`;
    expect((await parse(`${top}\nFrom: alice@example.test\nSubject: s\n\nx`)).refusal, result).toBeUndefined();
    expect((await parse(`${top}\nFrom: alice@dept.example.test\nSubject: s\n\nx`)).refusal, result).toBeUndefined();
  }
});

test('A6 an envelope that names two domains vouches for neither', async () => {
  const identities = ['@attack.test:any@example.test', '"@attack.test:any"@example.test', 'x@attack.test@example.test'];
  for (const identity of identities)
    for (const result of [`spf=pass smtp.mailfrom=${identity}`, `dkim=pass header.i=${identity}`]) {
      const top = `Authentication-Results: mx.example.test; dmarc=none; ${result}`;
      expect((await parse(`${top}\nFrom: alice@example.test\nSubject: s\n\nx`)).refusal, result).toBe('forged-sender');
    }
});

test('a reply comes without the mail it answers, in the thread of our mail', async () => {
  const message = await read('reply-gmail');
  expect(message).toMatchObject({
    id: 'email/bot@example.test/7:42',
    chatId: 'alice@example.test',
    senderId: 'alice@example.test',
    senderName: 'Alíce',
    text: '[Subject: Re: Übersicht]\nThanks, and tomorrow?\n\n-- \nAlice Example\nHead of Gardens\n\n[quoted text left out]',
    threadId: '0123456789abcdef',
    secondaryId: 'mid:alice@example.test:<m3@example.test>',
    timestamp: FACTS.receivedAt,
    isGroup: false,
  });
  expect(message.replyContext).toEqual({
    subject: 'Re: Übersicht',
    messageId: '<m3@example.test>',
    references: ['<m1@example.test>', '<gh-00000000000000000000000000000001.0123456789abcdef@example.test>', '<m3@example.test>'],
  });
});

test('answers between the quoted lines keep the lines they answer', async () => {
  expect((await read('inline-answer')).text).toBe(
    '[Subject: Re: plan]\n[about another mail: not all of this is in the words of the sender]\nOn Friday, Bot wrote:\n> Shall we begin at nine?\nYes.\n> And who brings cake?\nCarol does.\n\n-- \nAlice',
  );
});

test('an unmarked quotation below an Outlook header block is cut, a forwarded mail is kept', async () => {
  expect((await read('outlook-reply')).text).toBe('[Subject: AW: plan]\nFine with me.\n\n[quoted text left out]');
  expect((await read('forward')).text).toContain('You owe us 12 euro.');
});

test('an HTML body becomes text without styles, scripts, comments and the quoted mail', async () => {
  expect((await read('html-only')).text).toBe(
    '[Subject: html]\nFirst & second line\nthird <3\n- one\n- two\nthe page (https://example.test/page)\n\n[quoted text left out]',
  );
});

test('A23 attachments are references with the name as given; only pictures that cannot run code are photos', async () => {
  const { media, text } = await read('attachments');
  expect(text).toBe('[Subject: files]\nSee');
  expect(media).toEqual([
    { kind: 'photo', ref: '7:42:0', name: 'logo.png', mime: 'image/png', size: 8 },
    { kind: 'document', ref: '7:42:1', name: '../../x.svg', mime: 'image/svg+xml', size: expect.any(Number) },
    { kind: 'document', ref: '7:42:2', name: '€uro.pdf', mime: 'application/pdf', size: 5 },
    { kind: 'document', ref: '7:42:3', mime: 'message/rfc822', size: expect.any(Number) },
  ]);
});

test('F39 invalid UTF-8 and broken MIME give a message, not an error', async () => {
  expect((await read('invalid-utf8')).text).toMatch(/^\[Subject: caf.\]\nbad .+ bytes and na.ve$/);
  const broken = await read('broken-mime');
  expect(broken.chatId).toBe('alice@example.test');
  expect(JSON.stringify(broken)).toBe(JSON.stringify(JSON.parse(JSON.stringify(broken))));
});

test.each([
  ['a type without a subtype', 'Content-Type: text\n\nwords here'],
  ['a type that is none', 'Content-Type:\n\nwords here'],
  ['parts of which there are none', 'Content-Type: multipart/mixed; boundary=b\n\nwords here'],
  [
    'a part with a type that is none',
    'Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text\n\nwords here\n--b--',
  ],
  ['HTML by half its name', 'Content-Type: html\n\n<p>words <b>here</b></p>'],
  ['no blank line', 'words here'],
  ['no blank line, and a colon', 'X-Other: y\n z\nwords here'],
])('F39 the words of a mail with %s come through', async (_title, rest) => {
  const message = await parse(`${HEAD}Subject: s\n${rest}`);
  expect(message).toMatchObject({ text: '[Subject: s]\nwords here', media: [] });
});

test('words right below the header are the body, also those that look like fields', async () => {
  const { text } = await parse(`${HEAD}Subject: s\nPlease read:\nSubject: train\nPS: soon\n\nThanks`);
  expect(text).toBe('[Subject: s]\nPlease read:\nSubject: train\nPS: soon\n\nThanks');
});

test('a broken line within the header ends nothing', async () => {
  const { text } = await parse(`${HEAD}broken line\nSubject: s\nContent-Transfer-Encoding: base64\n\nd29yZHM=`);
  expect(text).toBe('[Subject: s]\nwords');
});

test('letters that Windows has and ISO 8859-1 has not come through, however they are written', async () => {
  const said = '[Subject: s]\nit’s “5 €” …';
  for (const charset of ['windows-1252', 'iso-8859-1', 'us-ascii']) {
    const type = `Content-Type: text/plain; charset=${charset}\n`;
    expect((await parse(Buffer.from(`${HEAD}Subject: s\n${type}\nit\x92s \x935 \x80\x94 \x85`, 'latin1'))).text).toBe(said);
    const printable = 'Content-Transfer-Encoding: quoted-printable\n';
    expect((await parse(`${HEAD}Subject: s\n${type}${printable}\nit=92s =935 =80=94 =85`)).text).toBe(said);
  }
  const html = 'Content-Type: text/html\n\n<p>it&#146;s &#x93;5 &#128;&rdquo; &hellip;</p>';
  expect((await parse(`${HEAD}Subject: s\n${html}`)).text).toBe(said);
});

test('F39 500 header fields are read, 501 and a header section over 64 kB are unreadable', async () => {
  const fields = (count: number) => `${HEAD}Subject: s\n${'X-Filler: y\n'.repeat(count - 3)}\nbody`;
  expect((await parse(fields(500))).text).toBe('[Subject: s]\nbody');
  expect((await parse(fields(501))).refusal).toBe('unreadable');
  expect((await parse(`${HEAD}X-Long: ${'a'.repeat(70_000)}\n\nbody`)).refusal).toBe('unreadable');
  expect((await parse(Buffer.alloc(200_000))).refusal).toBe('unreadable');
});

test('a body over the cap is cut with a note that says by how much', async () => {
  const { text } = await parse(`${HEAD}Subject: s\n\n${'ä'.repeat(50)}`, { ...OPTIONS, maxBodyChars: 20 });
  expect(text).toBe(`[Subject: s]\n${'ä'.repeat(20)}\n[mail shortened: 20 of 50 characters]`);
});

test('F39 hostile bodies are read in linear time', async () => {
  const bodies = [
    '<'.repeat(1_000_000),
    `${'<'.repeat(1_999_999)}>`,
    `<a${' b="'.repeat(400_000)}>`,
    '<a href="'.repeat(100_000),
    '<blockquote>'.repeat(80_000),
    '<script>'.repeat(100_000),
    '&#'.repeat(400_000),
  ];
  const cost = await cpuMs(async () => {
    for (const body of bodies) await parse(`${HEAD}Content-Type: text/html\n\n${body}`);
    for (const line of ['> \n', '-- \n', 'On a wrote:\n', 'From: x\n'])
      await parse(`${HEAD}Subject: s\n\n${line.repeat(20_000)}`);
  });
  expect(cost).toBeLessThan(5_000);
  expect((await parse(`${HEAD}Subject: s\n\n${'\n'.repeat(400_001)}x`)).refusal).toBe('unreadable');
});

test('F39 hostile header fields are read in linear time', async () => {
  const flood = (text: string, count: number) => text.repeat(count);
  const floods = [
    ...[HEAD.replace('dmarc=pass', `dmarc${flood(' ', 60_000)}x`), HEAD.replace('dmarc=pass', `dmarc${flood('\t', 60_000)}x`)],
    ...['(', '<', ' ', 'a@', '=?', ','].map((part) => HEAD.replace('alice@', `${flood(part, 30_000)}alice@`)),
    ...['<', '<a', '=?utf-8?q?'].map((part) => `${HEAD}Subject: ${flood(part, 6_000)}\nReferences: ${flood(part, 6_000)}\n`),
  ];
  const cost = await cpuMs(async () => {
    for (const head of floods) await parse(`${head}\nx`);
  });
  expect(cost).toBeLessThan(2_000);
});

test('F39 an archive is a reference and is never opened: what it would unpack to costs nothing', async () => {
  const zip = gzipSync(Buffer.alloc(20_000_000)).toString('base64');
  const part = `Content-Type: application/zip\nContent-Encoding: gzip\nContent-Transfer-Encoding: base64\nContent-Disposition: attachment; filename=bomb.zip`;
  const message = await parse(`${HEAD}Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n--b\n${part}\n\n${zip}\n--b--`);
  expect(message.media).toEqual([
    { kind: 'document', ref: '7:42:0', name: 'bomb.zip', mime: 'application/zip', size: Buffer.from(zip, 'base64').length },
  ]);
});

test('what is not shown at once is a file, first of all', async () => {
  const reply = `${HEAD}Subject: s\nIn-Reply-To: <a@x>\n`;
  const [body, file] = [
    '[quoted text left out]\nYes.\n\nOn 3.11.2026 10:12, Bot wrote:\n> Tea?\n',
    'Content-Disposition: attachment; filename=a.csv\n\n1',
  ];
  const message = await parse(`${reply}Content-Type: multipart/mixed; boundary=b\n\n--b\n\n${body}\n--b\n${file}\n--b--`);
  const said = '[Subject: s]\n\\[quoted text left out]\nYes.\n\n[quoted text left out]';
  expect(markedWords(message.text, message.marks)).toBe(said);
  expect(message.media.map(({ ref, name }) => [ref, name])).toEqual([
    ['7:42:body', 'mail.txt'],
    ['7:42:0', 'a.csv'],
  ]);
  const long = `${HEAD}Subject: s\n\n${'ä'.repeat(50)}`;
  expect((await parse(long, { ...OPTIONS, maxBodyChars: 20 })).media).toEqual([
    { kind: 'document', ref: '7:42:body', name: 'mail.txt', mime: 'text/plain', size: 100 },
  ]);
  expect((await parse(long, { ...OPTIONS, maxBodyChars: 20, maxFileBytes: 99 })).media).toEqual([]);
  expect((await parse(long)).media).toEqual([]);
});

test('more than 30 attachments are counted in a note', async () => {
  const part = '--b\nContent-Type: text/csv\nContent-Disposition: attachment; filename=a.csv\n\n1\n';
  const message = await parse(`${HEAD}Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n${part.repeat(33)}--b--`);
  expect(message.media).toHaveLength(30);
  expect(message.text).toBe('[Subject: s]\n[3 more attachments not shown]');
});

test('threads: the root of References, else In-Reply-To, else the mail itself; a first mail and its answers share one', async () => {
  const thread = async (headers: string) => (await parse(`${HEAD}Subject: s\n${headers}\n\nx`)).threadId;
  const root = await thread('Message-ID: <r@example.test>');
  expect(root).toMatch(/^[0-9a-f]{16}$/);
  expect(await thread('Message-ID: <b@example.test>\nReferences: <r@example.test> <other@example.test>')).toBe(root);
  expect(await thread('Message-ID: <c@example.test>\nIn-Reply-To: <r@example.test>')).toBe(root);
  expect(await thread('Message-ID: <d@example.test>')).not.toBe(root);
});

test("A37 a sender who names another's mails or our ids stays in his own chat", async () => {
  const message = await parse(
    `Authentication-Results: mx.example.test; dmarc=pass header.from=evil.test\nFrom: mallory@evil.test\nSubject: s\nMessage-ID: <m1@example.test>\nReferences: <gh-00000000000000000000000000000001.0123456789abcdef@example.test>\n\nx`,
  );
  expect(message).toMatchObject({ chatId: 'mallory@evil.test', senderId: 'mallory@evil.test', threadId: '0123456789abcdef' });
  expect(message.secondaryId).toBe('mid:mallory@evil.test:<m1@example.test>');
});

test('an answer to a mail that we started outside any thread belongs to the chat itself', async () => {
  const message = await parse(`${HEAD}Subject: Re: s\nIn-Reply-To: <gh-00000000000000000000000000000001.0@example.test>\n\nx`);
  expect(message).not.toHaveProperty('threadId');
});

test('a mail without Message-ID is known again by its bytes', async () => {
  const [one, same, other] = await Promise.all([parse(`${HEAD}\nx`), parse(`${HEAD}\nx`), parse(`${HEAD}\ny`)]);
  expect(one.secondaryId).toBe(same.secondaryId);
  expect(one.secondaryId).not.toBe(other.secondaryId);
});
