import { expect, test } from 'vitest';
import type { ChannelLimits } from '../core/channel.ts';
import type { InboundMessage, OutboundFile } from '../core/message.ts';
import { inbound } from '../testing/fakes.ts';
import { expectQuick } from '../testing/quick.ts';
import { planParts } from './plan.ts';

const limits: ChannelLimits = { text: 20, unit: 'utf16', caption: 10, uploadBytes: 5_000_000, downloadBytes: 1 };
const file: OutboundFile = { path: '/tmp/a', name: 'a.pdf', mime: 'application/pdf', kind: 'document', bytes: 10 };
const base = { limits, files: [], now: 1_000, expiresInMs: 500 };

test('parts say whether their chat is a group', () => {
  const isGroup = (message: Partial<InboundMessage>) =>
    planParts({ ...base, message: inbound(message), text: 'x' })[0]?.part.isGroup;
  expect([isGroup({ isGroup: true }), isGroup({})]).toEqual([true, undefined]);
});

test('where an answer may have so many parts only, its choices are listed all the same', () => {
  const choices = ['tea', 'coffee'].map((label) => ({ label, value: label }));
  const message = inbound();
  const plan = (text: string) =>
    planParts({ ...base, limits: { ...limits, text: 60, parts: 3 }, message, text, choices }).map(({ part }) => part.text);
  expect(plan('Which?')).toEqual(['Which?\n\n1. tea\n2. coffee']);
  const cut = plan(`${'many words '.repeat(60)}which?`);
  expect(cut.at(-1)).toBe('1. tea\n2. coffee');
  expect(cut.at(-2)).toMatch(/left out/);
});

test.each(['\n', '\r', '\u2028', ' \t', '1'])('a question of many %j is planned in one pass', (piece) => {
  const choices = [{ label: 'tea', value: 'tea' }];
  const wide = { ...limits, text: 1_000_000 };
  expectQuick(piece, (text) => planParts({ ...base, limits: wide, message: inbound(), text: `a${text}b`, choices }));
});

test('text chunks come first, then files, all counted and keyed by their place', () => {
  const message = inbound({ threadId: 't/1', replyContext: { reply: 7 } });
  const parts = planParts({
    ...base,
    message,
    text: 'one two three four five six',
    files: [{ file, caption: 'short' }, { file }],
  });
  expect(parts.map(({ part }) => [part.ordinal, part.count, part.text, part.file?.name])).toEqual([
    [0, 4, 'one two three four', undefined],
    [1, 4, 'five six', undefined],
    [2, 4, 'short', 'a.pdf'],
    [3, 4, '', 'a.pdf'],
  ]);
  expect(parts[1]?.part).toEqual({
    key: 'test/bot/m-1#1',
    messageId: 'test/bot/m-1',
    channel: 'test',
    account: 'bot',
    chatId: 'chat-1',
    threadId: 't/1',
    ordinal: 1,
    count: 4,
    text: 'five six',
    replyContext: { reply: 7 },
  });
  expect(parts.every((part) => part.expiresAt === 1_500 && part.lane === 'test/bot/chat-1/t%2F1')).toBe(true);
});

test('where parts cost money a long answer ends after its share, and says how much is missing', () => {
  const parts = planParts({ ...base, limits: { ...limits, parts: 2 }, message: inbound(), text: `${'word '.repeat(20)}end` });
  expect(parts.map(({ part }) => part.text)).toEqual(['word word word word', 'word word word word', '[63 characters left ']);
});

test('the piece above buttons leaves room to list them', () => {
  const choices = [
    { label: 'Yes', value: 'y' },
    { label: 'No', value: 'n' },
  ];
  const texts = (text: string) =>
    planParts({ ...base, limits: { ...limits, text: 60 }, message: inbound(), text, choices, buttons: true }).map(({ part }) => [
      part.text,
      part.choices?.length ?? 0,
    ]);
  expect(texts('short')).toEqual([['short', 2]]);
  expect(texts('one two three four five six seven eight nine ten eleven')).toEqual([
    ['one two three four five six seven eight', 0],
    ['nine ten eleven', 2],
  ]);
});

test('the same answer gives the same parts again', () => {
  const answer = { ...base, message: inbound(), text: 'x'.repeat(50), files: [{ file }] };
  expect(planParts(answer)).toEqual(planParts(answer));
});

test('a caption that does not fit goes before its file as text', () => {
  const parts = planParts({ ...base, message: inbound(), text: '', files: [{ file, caption: 'much too long for it' }] });
  expect(parts.map(({ part }) => [part.text, part.file?.name])).toEqual([
    ['much too long for it', undefined],
    ['', 'a.pdf'],
  ]);
});

test('a file the platform cannot carry becomes a line that says so', () => {
  const files = [{ file: { ...file, bytes: 6_000_000 } }];
  const parts = planParts({ ...base, limits: { ...limits, text: 200 }, message: inbound(), text: 'here', files });
  expect(parts.map(({ part }) => part.text)).toEqual(['here', '(a.pdf: 6.0 MB is more than this channel carries, 5.0 MB)']);
  expect(parts.some(({ part }) => part.file)).toBe(false);
});

test('an empty answer has no part', () => {
  expect(planParts({ ...base, message: inbound(), text: ' \n' })).toEqual([]);
});

test('choices are buttons under the last piece of the text, or a list in it where there are none', () => {
  const choices = ['Allow', 'Deny'].map((label) => ({ label, value: label.toLowerCase() }));
  const message = inbound();
  const pressed = planParts({ ...base, message, text: 'one two three four five?', choices, buttons: true, files: [{ file }] });
  expect(pressed.map(({ part }) => [part.text, part.choices])).toEqual([
    ['one two three four', undefined],
    ['five?', choices],
    ['', undefined],
  ]);
  const typed = planParts({ ...base, message, text: 'one?', choices });
  expect(typed.map(({ part }) => [part.text, part.choices])).toEqual([
    ['one?', undefined],
    ['1. Allow\n2. Deny', undefined],
  ]);
});

test('choices are listed where one message with buttons cannot hold them, counted from one below a list of the text', () => {
  const choices = ['Tea', 'Milk', 'Ale'].map((label) => ({ label, value: label }));
  const message = inbound();
  const texts = (text: string, carries: { choices: number; text: number }) =>
    planParts({ ...base, limits: { ...limits, text: 100, buttons: carries }, message, text, choices, buttons: true }).map(
      ({ part }) => [part.text, part.choices?.length],
    );
  expect(texts('Which?', { choices: 3, text: 6 })).toEqual([['Which?', 3]]);
  expect(texts('Which?', { choices: 2, text: 6 })).toEqual([['Which?\n\n1. Tea\n2. Milk\n3. Ale', undefined]]);
  expect(texts('Which?', { choices: 3, text: 5 })).toEqual([['Which?\n\n1. Tea\n2. Milk\n3. Ale', undefined]]);
  expect(texts('1. old\n2. new', { choices: 3, text: 5 })).toEqual([['1. old\n2. new\n\n1) Tea\n2) Milk\n3) Ale', undefined]]);
});
