import { expect, test } from 'vitest';
import { outbound } from '../../../src/testing/fakes.ts';
import { ownMessageId, readOwnId } from '../wire/thread.ts';
import { toMail } from './outbound.ts';

const OPTIONS = { from: { name: 'Bot', address: 'bot@example.test' }, blindCopy: true, plain: false };
const FILE = { path: '/x', name: 'a.txt', mime: 'text/plain', kind: 'document', bytes: 1 } as const;
const reply = (subject: string, override = {}) =>
  outbound({
    chatId: 'alice@example.test',
    threadId: '0123456789abcdef',
    messageId: 'email/x/1',
    replyContext: { subject, messageId: '<b@x>', references: ['<a@x>', '<b@x>'] },
    ...override,
  });

test('a reply names its mail and the whole chain, and says that a machine wrote it', async () => {
  expect(await toMail(reply('hello'), OPTIONS)).toMatchObject({
    to: ['alice@example.test'],
    blindCopy: 'bot@example.test',
    subject: 'Re: hello',
    inReplyTo: '<b@x>',
    references: ['<a@x>', '<b@x>'],
    headers: { 'Auto-Submitted': 'auto-replied' },
  });
});

test('Re: is put once, whatever language it is in', async () => {
  for (const subject of ['Re: x', 'RE:x', 'AW: x', 'Re[2]: x'])
    expect((await toMail(reply(subject), OPTIONS)).subject).toBe(subject);
  expect((await toMail(reply(''), OPTIONS)).subject).toBe('Re: (no subject)');
});

test('F8 the Message-ID follows from the part key, and carries the thread an answer belongs to', async () => {
  const [one, again, other] = [reply('s'), reply('changed'), reply('s', { key: 'other' })].map((part) =>
    ownMessageId(part, 'bot@example.test'),
  );
  expect(one).toBe(again);
  expect(one).not.toBe(other);
  expect(readOwnId(one ?? '', 'Bot@Example.test')).toEqual({ threadId: '0123456789abcdef' });
  expect(readOwnId(one ?? '', 'bot@elsewhere.test')).toBeUndefined();
  expect(readOwnId(ownMessageId({ key: 'k' }, 'bot@example.test'), 'bot@example.test')).toEqual({});
});

test('a mail we start takes its first line as subject', async () => {
  const { replyContext: _, messageId: __, ...part } = reply('s', { text: '# Your *report*\nbody' });
  expect(await toMail(part, OPTIONS)).toMatchObject({
    subject: 'Your *report*',
    references: [],
    headers: { 'Auto-Submitted': 'auto-generated' },
  });
});

test('a mail that begins a conversation goes to its readers under its own subject, refers to nothing, and is by a machine', async () => {
  const mail = {
    to: ['a@x.test', 'b@x.test'],
    cc: ['c@x.test'],
    subject: 'Offer\r\nBcc: eve@x.test',
    files: [FILE, { ...FILE, name: '../b' }],
  };
  const sentFor = { readers: [], title: 'a' };
  // What the run answers says nothing of this mail.
  const part = reply('s', { chatId: 'a@x.test', threadId: undefined, text: '**hi**', mail, sentFor });
  const made = await toMail(part, OPTIONS);
  expect(made).toMatchObject({
    to: mail.to,
    cc: mail.cc,
    subject: mail.subject,
    references: [],
    headers: { 'Auto-Submitted': 'auto-generated' },
  });
  expect(made).not.toHaveProperty('inReplyTo');
  expect(made.html).toContain('<strong>hi</strong>');
  expect(made.attachments?.map(({ name }) => name)).toEqual(['a.txt', 'b']);
  expect(readOwnId(made.messageId, 'bot@example.test')).toEqual({});
});

test('A31 the HTML part shows Markdown, loads nothing from the network and keeps markup of the text as text', async () => {
  const text =
    '**b** `c` [l](https://x.test/) [j](javascript:alert(1)) ![i](https://x.test/i.png)\n\n<script>1</script>\n\n1. one\n\n| a |\n|---|\n| 1 |';
  const mail = await toMail(reply('s', { text }), OPTIONS);
  expect(mail.text).toBe(text);
  expect(mail.html).toContain(
    '<strong>b</strong> <code>c</code> <a href="https://x.test/">l</a> j <a href="https://x.test/i.png">i</a>',
  );
  expect(mail.html).not.toMatch(/<script|<img|javascript:/);
  expect(await toMail(reply('s', { text }), { ...OPTIONS, plain: true })).not.toHaveProperty('html');
});

test('A23 the name of an attached file is a plain file name', async () => {
  const names = ['../../etc/passwd', 'a\r\nX: y.txt', '..\\..\\w.exe', '', '...', `${'n'.repeat(300)}.pdf`];
  const file = { path: '/x', mime: 'text/plain', kind: 'document', bytes: 1 } as const;
  const made = await Promise.all(
    names.map(async (name) => (await toMail(reply('s', { file: { ...file, name } }), OPTIONS)).attachments?.[0]?.name),
  );
  expect(made.slice(0, 5)).toEqual(['passwd', 'a__X_ y.txt', 'w.exe', 'file', 'file']);
  expect(made[5]).toMatch(/^n{146}\.pdf$/);
});
