import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { leastCpuMs } from '../../../src/testing/cpu-time.ts';
import { quotesOthers, type Said, withoutQuotation } from './body.ts';
import { plainLines } from './body-line.ts';
import { htmlToLines } from './html-text.ts';
import { type InboundOptions, type MailFacts, toInbound } from './inbound.ts';

/** See fixtures/README.md. */
interface Sample {
  readonly name: string;
  readonly mail: readonly string[];
  readonly says: readonly string[];
}

/** For 300 kB. */
const LIMIT_MS = 200;
const MARK = '[quoted text left out]';
const OPTIONS: InboundOptions = {
  ...{ channel: 'email', account: 'agent@example.com', trustFrom: true, authservId: undefined },
  ...{ maxBodyChars: 1_000_000, maxFileBytes: 1_000_000 },
};
const FACTS: MailFacts = { uidValidity: '7', uid: 42, receivedAt: 1_700_000_000_000, size: 1 };
const ROOT = new URL('../fixtures/', import.meta.url);
const samplesOf = (file: string) => JSON.parse(readFileSync(new URL(file, ROOT), 'utf8')) as readonly Sample[];
const FILES = ['first', 'second'].flatMap((folder) => readdirSync(new URL(folder, ROOT)).map((file) => `${folder}/${file}`));
const WORDS = FILES.filter((file) => file.includes('/words-'));
const REPLIES = FILES.filter((file) => file.includes('/replies-'));

test.each(WORDS)('%s: of a mail that is no reply each word comes through', async (file) => {
  const failed: string[] = [];
  for (const sample of samplesOf(file)) {
    const body = await bodyOf(sample);
    if (body.includes(MARK) || !saysAll(body, sample)) failed.push(sample.name);
  }
  expect(failed).toEqual([]);
});

test.each(REPLIES)('%s: of a reply each word of its sender comes through', async (file) => {
  const failed: string[] = [];
  for (const sample of samplesOf(file)) if (!saysAll(await bodyOf(sample), sample)) failed.push(sample.name);
  expect(failed).toEqual([]);
});

test('97 of 100 replies come through as their sender wrote them, with a mark for what they quote', async () => {
  const samples = REPLIES.flatMap((file) => samplesOf(file).map((sample) => ({ file, sample })));
  const other: string[] = [];
  for (const { file, sample } of samples)
    if (tidy(await bodyOf(sample)) !== tidy(sample.says.join('\n'))) other.push(`${file}: ${sample.name}`);
  expect(1 - other.length / samples.length, other.join('\n')).toBeGreaterThanOrEqual(0.97);
});

const FACTS_OF_REPLY = { subject: 'Re: Tea', account: 'agent@example.com' };
const shown = ({ above, below }: Said) =>
  below === undefined ? above : [above, MARK, below].filter((part) => part !== '').join('\n\n');
const plain = (text: string, facts = FACTS_OF_REPLY) => shown(withoutQuotation(plainLines(text), facts));
const html = (text: string) => shown(withoutQuotation(htmlToLines(text), FACTS_OF_REPLY));

test('a prose sentence that says who wrote, and a line behind > below it, are the words of the sender', () => {
  const said = 'The note on the door.\n\nHe wrote:\n> back at nine';
  expect(plain(said)).toBe(said);
  expect(plain('See:\n> npm install\n')).toBe('See:\n> npm install');
});

test('a journey and a header block that is about another mail stay', () => {
  const journey = 'Please book:\nFrom: Berlin\nTo: Munich\nDate: 27.11.2026 10:15\nSubject: seat by the window';
  expect(plain(`${journey}\nThanks`)).toBe(`${journey}\nThanks`);
  const pasted =
    'Is it real?\n\nFrom: Bank <x@bank.test>\nDate: 3.11.2026 10:12\nTo: ada@example.com\nSubject: Your account\n\nPay now.';
  expect(plain(pasted)).toBe(pasted);
});

test('an attribution in a language of which we know nothing goes by its address', () => {
  const arabic =
    '\u202bفي الثلاثاء، 3 نوفمبر 2026 في 10:12 ص تمت كتابة ما يلي بواسطة \u202aAgent\u202c\u200f <\u202aagent@example.com\u202c\u200f>:\u202c\u200f';
  expect(plain(`نعم\n\n${arabic}\n\n> شاي؟`)).toBe('نعم\n\n[quoted text left out]');
});

test('header fields in a language of which we know nothing go by the HTML of the program', () => {
  const fields = 'من: Agent<br>تم الإرسال: 3 نوفمبر 2026 10:12<br>إلى: Ada<br>الموضوع: Tea';
  const page = `<p>نعم</p><hr><div id="divRplyFwdMsg"><b>${fields}</b></div><p>شاي؟</p>`;
  expect(html(page)).toBe('نعم\n\n[quoted text left out]');
  const border = '<div style="border:none;border-top:solid #E1E1E1 1.0pt">';
  expect(html(`<p>نعم</p><div>${border}<p>${fields}</p></div></div><p>شاي؟</p>`)).toBe('نعم\n\n[quoted text left out]');
  expect(html(`<p>a</p>${border}<p>a line above my own words</p></div><p>b</p>`)).toBe('a\na line above my own words\nb');
});

test('a quotation that begins with a mail passed on earlier is a quotation', () => {
  const quoted = '> ---------- Forwarded message ---------\n> From: Ada <ada@example.com>\n> Tea?';
  expect(plain(`Yes.\n\nOn 3.11.2026 10:12, Agent <agent@example.com> wrote:\n${quoted}`)).toBe('Yes.\n\n[quoted text left out]');
  expect(plain(`As promised.\n\n${quoted}`)).toBe(`As promised.\n\n${quoted}`);
});

test("what is written into Gmail's container below nothing quoted is kept", () => {
  expect(html('<div>Yes.</div><div class="gmail_quote">and one more thing:<br>bring tea</div>')).toBe(
    'Yes.\nand one more thing:\nbring tea',
  );
});

test('a mail that is passed on in a thread, by its subject, is kept whole', () => {
  const text = 'See below.\n\nOn 3.11.2026 10:12, Agent <agent@example.com> wrote:\n> Tea?';
  for (const subject of ['Fwd: Tea', '[EXTERNAL] WG: Tea', 'TR : Tea', '转发：Tea', 'ПЕР: Tea'])
    expect(plain(text, { ...FACTS_OF_REPLY, subject }), subject).toBe(text);
  expect(plain(text, { ...FACTS_OF_REPLY, subject: 'Re: Fwd: Tea' })).toContain('left out');
});

const FLOODS = [
  ...['> \n', '>\n', '> a\nb\n', '>\na:\n', '> x\nFrom: x\n', '>>>>>>>>>>>>>>>>\n', '＞ a\n', '\n', ' \n', 'a\n'],
  ...['-- \n', '____\n', '-----Original Message-----\n', '---------- Forwarded message\n', 'Begin forwarded:\n'],
  ...[
    'On a wrote:\n',
    'On 2026-11-03 10:12 Ada <a@x.test> wrote:\n',
    'On 2026-11-03 10:12 Ada <a@x.test> wrote:\nx\n\n',
    'a@b 2026 1:11:\n',
  ],
  ...['From: x\n', 'From: a@b\nTo: c\n\n', 'From: x\nDate: 3.11.2026 10:12\nTo: y\nSubject: z\n\n', 'Date: x;\n y\n'],
  ...['a', ' ', '-', ':', '>', '*', '@', 'a:', '1.1.', '2026 ', ' - ', 'a b ', '\r', '*From:*', `${'-'.repeat(599)}x\n`],
];

test.each(FLOODS)('300 kB of %j take no longer than words', (unit) => {
  const body = unit.repeat(Math.ceil(300_000 / unit.length));
  for (const text of [body, `words\n\n${body}`, `${body}\n> a\n`, `On 3.11.2026 10:12, Ada wrote:\n> a\n${body}`])
    expect(
      leastCpuMs(LIMIT_MS, () => withoutQuotation(plainLines(text), { subject: 'Re: s', account: 'agent@example.com' })),
    ).toBeLessThan(LIMIT_MS);
});

test('lines with many dashes that are no mark are looked at in one pass', () => {
  const lines = plainLines(`a${'-'.repeat(117)}a\n`.repeat(9_000));
  const facts = { subject: 'Re: s', account: 'agent@example.com' };
  expect(leastCpuMs(300, () => [withoutQuotation(lines, facts), quotesOthers(lines, facts)])).toBeLessThan(300);
});

test.each([
  [
    'that only says that there is HTML',
    'This message is in HTML. Your program cannot show it.',
    '<p>The key is in the <b>blue</b> box.</p>',
  ],
  ['that says nothing of it', 'View this mail in a browser: https://example.com/m/1', '<p>The key is in the blue box.</p>'],
])('a plain part %s does not stand for the words in it', async (_, plain, html) => {
  const { text } = await toInbound(alternative(plain, html), FACTS, OPTIONS);
  expect(text).toContain('The key is in the blue box.');
});

test.each([
  ['says the same', 'The key is in the blue box.', '<p>The <b>key</b> is in the blue box.</p>'],
  ['says the same as the beginning of it', 'Yes, do that.', '<p>Yes,\xa0do that.</p><p>Ada, 12 High Street</p>'],
  ['has stars where it has bold', 'Please *call me* now.', '<p>Please <b>call me</b> now.</p>'],
  ['is in capitals', 'MEETING AT NINE', '<h1>Meeting at nine</h1>'],
  ['has another apostrophe', "Don't.", '<p>Don\u2019t.</p>'],
  ['has no blanks', '明日の会議は九時からです。', '<p>明日の会議は<br>九時からです。</p>'],
  ['says more than it', 'The key is in the blue box.', '<img src="cid:1">'],
])('a plain part that %s is what the agent reads', async (_, plain, html) => {
  const { text } = await toInbound(alternative(plain, html), FACTS, OPTIONS);
  expect(text).toBe(plain);
});

function alternative(plain: string, html: string): Buffer {
  const head =
    'From: Ada <ada@example.org>\r\nMessage-ID: <1@example.org>\r\nContent-Type: multipart/alternative; boundary=b\r\n';
  const parts = [`text/plain\r\n\r\n${plain}`, `text/html; charset=utf-8\r\n\r\n${html}`].map(
    (part) => `--b\r\nContent-Type: ${part}\r\n`,
  );
  return Buffer.from([head, ...parts, '--b--'].join('\r\n'));
}

async function bodyOf({ name, mail }: Sample): Promise<string> {
  const { text, refusal } = await toInbound(Buffer.from(mail.join('\r\n')), FACTS, OPTIONS);
  expect(refusal, name).toBeUndefined();
  return text.replace(/^\[Subject: .*\]\n(?:\[about another mail: .*\]\n)?/, '');
}

/** White space at line ends does not count, and two or more empty lines count as one. */
function tidy(text: string): string {
  return text
    .replace(/[ \t\u00a0]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function saysAll(body: string, { says }: Sample): boolean {
  const words = body.split(/\s+/);
  let at = 0;
  return says
    .filter((line) => line !== MARK)
    .join('\n')
    .split(/\s+/)
    .every((word) => {
      at = words.indexOf(word, at) + 1;
      return word === '' || at > 0;
    });
}
