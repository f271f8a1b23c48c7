import { expect, test } from 'vitest';
import type { OutboundFile } from '../../../src/core/message.ts';
import { planParts } from '../../../src/delivery/plan.ts';
import { inbound, outbound } from '../../../src/testing/fakes.ts';
import { CallError, type CallFailure } from '../../kit/call-error.ts';
import { toSendResult } from '../wire/failure.ts';
import { toMessage, toSent, toUpload } from './outbound.ts';

const OPTIONS = { plain: false, agentId: 7, markdown: true, duplicateCheck: true };
const PART = outbound({ chatId: 'ada', key: 'k#0' });

const payloadOf = async (part = PART, options = OPTIONS) => {
  const message = await toMessage(part, options);
  if ('refused' in message) throw new Error(message.detail);
  return message.payload as Readonly<Record<string, unknown>> & { text: { content: string }; markdown: { content: string } };
};

test('one member is addressed, by the application, with the longest duplicate check there is', async () => {
  expect(await payloadOf({ ...PART, text: 'words' })).toEqual({
    touser: 'ada',
    agentid: 7,
    msgtype: 'text',
    text: { content: expect.stringMatching(/^words[ \t]{32}\u200b$/) },
    enable_duplicate_check: 1,
    duplicate_check_interval: 14_400,
  });
  expect(await payloadOf({ ...PART, text: '**words**' })).toMatchObject({ msgtype: 'markdown' });
});

test('F37 the same part is the same request each time, another part with the same words is another', async () => {
  const one = await payloadOf({ ...PART, text: 'Done.' });
  expect(await payloadOf({ ...PART, text: 'Done.' })).toEqual(one);
  const others = await Promise.all(
    Array.from({ length: 200 }, (_, at) => payloadOf({ ...PART, key: `k#${at + 1}`, text: 'Done.' })),
  );
  // Even to a platform that trims what it compares.
  expect(new Set(others.map(({ text }) => text.content.trim())).size).toBe(200);
});

test('without the duplicate check nothing is added', async () => {
  const payload = await payloadOf({ ...PART, text: 'words' }, { ...OPTIONS, duplicateCheck: false });
  expect(payload).toEqual({ touser: 'ada', agentid: 7, msgtype: 'text', text: { content: 'words' } });
});

test('choices below a text of the greatest length are listed and not cut off', async () => {
  const choices = [
    { label: 'Ja, bitte jetzt gleich', value: 'yes-do-it-now' },
    { label: 'Nein, lieber morgen', value: 'no-tomorrow' },
  ];
  const limits = { text: 1_950, unit: 'byte', caption: 0, uploadBytes: 1, downloadBytes: 1 } as const;
  const text = '字'.repeat(650);
  const parts = planParts({ message: inbound(), text, files: [], choices, buttons: true, limits, now: 0, expiresInMs: 1 });
  for (const { part } of parts) expect(await toMessage(part, OPTIONS)).not.toHaveProperty('refused');
  expect(parts.map(({ part }) => part.text).join('')).toBe(text);
});

test('the platform counts bytes: what it would cut off is refused, what only markup made too long goes as it was written', async () => {
  const fits = '中'.repeat(671);
  expect((await payloadOf({ ...PART, text: fits })).text.content.startsWith(fits)).toBe(true);
  expect(await toMessage({ ...PART, text: '中'.repeat(672) }, OPTIONS)).toMatchObject({ refused: 'too-long' });
  const bullets = '- a\n'.repeat(500).trim();
  expect(await payloadOf({ ...PART, text: bullets })).toMatchObject({
    msgtype: 'text',
    text: { content: expect.stringMatching(/^- a\n/) },
  });
  expect(await toMessage({ ...PART, text: ' ' }, OPTIONS)).toMatchObject({ refused: 'invalid' });
});

test('plain text is sent as it stands', async () => {
  const text = '# a **b** <c> [d](e)';
  expect(await payloadOf({ ...PART, text }, { ...OPTIONS, plain: true })).toMatchObject({
    msgtype: 'text',
    text: { content: expect.stringContaining(text) },
  });
});

test('A23 plain text has no link that names another address than it opens', async () => {
  const text = 'See <a href="https://evil.example">https://bank.example</a>';
  const payload = await payloadOf({ ...PART, text, choices: CHOICES }, { ...OPTIONS, plain: true });
  expect(payload).toMatchObject({ text: { content: expect.stringContaining('https://evil.example') } });
  expect(JSON.stringify(payload)).not.toContain('<a href');
});

const CHOICES = [
  { label: 'Approve', value: 'approve:1' },
  { label: 'Deny', value: 'deny:1' },
];

test('choices become buttons of a card, whose id is the same on every attempt', async () => {
  const part = { ...PART, text: 'Run **rm**?', choices: CHOICES };
  const payload = await payloadOf(part);
  expect(payload).toMatchObject({
    msgtype: 'template_card',
    template_card: {
      card_type: 'button_interaction',
      main_title: { title: 'Run rm?' },
      task_id: expect.stringMatching(/^[\da-f]{64}$/),
      button_list: [
        { text: 'Approve', key: 'approve:1' },
        { text: 'Deny', key: 'deny:1' },
      ],
    },
  });
  expect(await payloadOf(part)).toEqual(payload);
});

test.each([
  ['a long line', `${'word '.repeat(20)}?`, { title: `${'word '.repeat(7)}…`, below: `${'word '.repeat(20)}?` }],
  ['lines', 'Run this?\n\n`rm -r x`', { title: 'Run this?', below: 'rm -r x' }],
])('a card always has a title, and %s is still shown whole', async (_name, text, { title, below }) => {
  const payload = await payloadOf({ ...PART, text, choices: CHOICES });
  expect(payload).toMatchObject({ template_card: { main_title: { title }, sub_title_text: below } });
});

test('plain text has no card: it lists the choices', async () => {
  const payload = await payloadOf({ ...PART, text: 'Run rm?', choices: CHOICES }, { ...OPTIONS, plain: true });
  expect(payload['msgtype']).toBe('text');
  expect(payload.text.content).toContain('approve:1');
});

test.each([
  [
    'more choices than a card takes',
    { text: 'Pick', choices: Array.from({ length: 7 }, (_, at) => ({ label: `L${at}`, value: `v${at}` })) },
  ],
  ['a text that a card cuts off', { text: 'long '.repeat(60), choices: CHOICES }],
  [
    'two choices of one value',
    { text: 'Pick', choices: [CHOICES[0] ?? { label: '', value: '' }, { label: 'Too', value: 'approve:1' }] },
  ],
])('%s: the text lists them', async (_name, override) => {
  const payload = await payloadOf({ ...PART, ...override });
  expect(payload['msgtype']).toBe('text');
  for (const { value } of override.choices) expect(payload.text.content).toContain(value);
});

const FILE: OutboundFile = { path: '/x', name: 'a.bin', mime: 'application/pdf', kind: 'document', bytes: 100 };
const MEGABYTE = 1024 * 1024;

test.each<[string, Partial<OutboundFile>, string]>([
  ['a JPEG', { kind: 'photo', mime: 'image/jpeg' }, 'image'],
  ['a PNG above 10 MB', { kind: 'photo', mime: 'image/png', bytes: 11 * MEGABYTE }, 'file'],
  ['a WebP', { kind: 'photo', mime: 'image/webp' }, 'file'],
  ['an AMR voice note above 2 MB', { kind: 'voice', mime: 'audio/amr', bytes: 3 * MEGABYTE }, 'file'],
  ['an OGG voice note', { kind: 'voice', mime: 'audio/ogg' }, 'file'],
  ['an MP4', { kind: 'video', mime: 'video/mp4' }, 'video'],
  ['an MP4 above 10 MB', { kind: 'video', mime: 'video/mp4', bytes: 11 * MEGABYTE }, 'file'],
  ['music', { kind: 'audio', mime: 'audio/mpeg' }, 'file'],
  ['a document', {}, 'file'],
])('%s goes as %3$s', (_name, override, type) => {
  expect(toUpload({ ...FILE, ...override }, 1).type).toBe(type);
});

test('a recording in AMR is a voice message up to a minute, and a file when it is longer or no AMR at all', () => {
  const note: OutboundFile = { ...FILE, kind: 'voice', mime: 'audio/amr' };
  expect([60, 60.02, undefined].map((seconds) => toUpload(note, seconds).type)).toEqual(['voice', 'file', 'file']);
});

test('a label that a button cannot show whole stands above it, and two that would look alike are listed', async () => {
  const cardOf = async (...labels: string[]) => {
    const payload = await payloadOf({
      ...PART,
      text: 'Which?',
      choices: labels.map((label, at) => ({ label, value: `v${at}` })),
    });
    return payload['template_card'] as { button_list: { text: string; key: string }[]; sub_title_text?: string } | undefined;
  };
  expect((await cardOf('Yes', 'No'))?.sub_title_text).toBeUndefined();
  const card = await cardOf('Yes, with everything', 'No');
  expect(card?.button_list).toEqual([
    { text: 'Yes, with…', key: 'v0' },
    { text: 'No', key: 'v1' },
  ]);
  expect(card?.sub_title_text).toBe('1. Yes, with everything\n2. No');
  expect(await cardOf('Tomorrow at noon', 'Tomorrow at night')).toBeUndefined();
});

test('A23 a file name cannot leave its header', () => {
  expect(toUpload({ ...FILE, name: '../a"\r\nx: y;\\报告.pdf' }).name).toBe('.._a_x: y_报告.pdf');
  expect(toUpload({ ...FILE, name: '\0' }).name).toBe('file');
});

const failed = (failure: CallFailure, method = 'message/send') => toSendResult(new CallError(method, failure));

test.each([
  [45_009, { kind: 'retry', afterMs: 60_000, scope: 'account' }],
  [45_033, { kind: 'retry', scope: 'account' }],
  [42_001, { kind: 'retry', scope: 'account' }],
  [-1, { kind: 'unknown' }],
  [81_013, { kind: 'refused', reason: 'chat-gone' }],
  [40_003, { kind: 'refused', reason: 'chat-gone' }],
  [60_011, { kind: 'refused', reason: 'blocked' }],
  [60_020, { kind: 'refused', reason: 'auth' }],
  [48_002, { kind: 'refused', reason: 'auth' }],
  [301_002, { kind: 'refused', reason: 'auth' }],
  [45_002, { kind: 'refused', reason: 'too-long' }],
  [40_058, { kind: 'refused', reason: 'invalid' }],
])('F35 F36 errcode %i means %j', (errcode, result) => {
  expect(failed({ kind: 'api', code: errcode, detail: 'words' })).toMatchObject(result);
});

test('F37 only a message that may have left is unknown', () => {
  expect(failed({ kind: 'unreached', detail: 'x' })).toMatchObject({ kind: 'retry' });
  expect(failed({ kind: 'lost', detail: 'x' })).toMatchObject({ kind: 'unknown' });
  expect(failed({ kind: 'http', status: 502, detail: 'x' })).toMatchObject({ kind: 'unknown' });
  for (const method of ['gettoken', 'media/upload']) {
    expect(failed({ kind: 'lost', detail: 'x' }, method)).toMatchObject({ kind: 'retry' });
    expect(failed({ kind: 'http', status: 502, detail: 'x' }, method)).toMatchObject({ kind: 'retry' });
    expect(failed({ kind: 'api', code: -1, detail: 'busy' }, method)).toMatchObject({ kind: 'retry' });
  }
});

test('a success that names our member as one who got nothing is none', () => {
  expect(toSent({ msgid: 'm', invaliduser: 'ada' }, PART)).toMatchObject({ kind: 'refused', reason: 'chat-gone' });
  expect(toSent({ msgid: 'm', unlicenseduser: 'ada' }, PART)).toMatchObject({ kind: 'refused', reason: 'blocked' });
  expect(toSent({ msgid: 'm' }, PART)).toEqual({ kind: 'sent', platformId: 'm' });
  expect(toSent({}, PART)).toEqual({ kind: 'sent', platformId: expect.stringMatching(/^accepted:/) });
});
