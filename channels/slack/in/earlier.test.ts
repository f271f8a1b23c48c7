import { afterEach, expect, test } from 'vitest';
import type { InboundMessage } from '../../../src/core/message.ts';
import { BOT_ID, BOT_USER, PERSON } from '../../../src/simulator/slack/workspace.ts';
import { inbound } from '../../../src/testing/fakes.ts';
import { slackSetup } from '../../../src/testing/slack/setup.ts';
import { channel as descriptor } from '../index.ts';
import { threadTail } from './thread-tail.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item[Symbol.asyncDispose]();
});

const CHANNEL = 'C0TEST';

async function scene() {
  const at = await slackSetup(descriptor);
  open.push(at);
  const { channel } = await at.start();
  const earlier = (message: Partial<InboundMessage>, limit = 30) =>
    channel.earlier?.(inbound({ chatId: CHANNEL, ...message }), limit, AbortSignal.timeout(10_000));
  const texts = async (...args: Parameters<typeof earlier>) => (await earlier(...args))?.map(({ text }) => text);
  const say = (text: string, more: object = {}) => at.server.store({ channel: CHANNEL, text, ...more });
  return { ...at, channel, earlier, texts, say };
}

test('of a channel the newest messages before the one that calls are told, oldest first, with names and whose they are', async () => {
  const at = await scene();
  at.server.names.set('U0BOB', 'Bob');
  at.say('long ago');
  at.say('lunch at *one*?', { user: 'U0BOB' });
  at.say('my word', { user: BOT_USER, bot_id: BOT_ID });
  const call = at.say(`<@${BOT_USER}> well?`);
  at.say('later');
  const found = await at.earlier({ platformId: `${CHANNEL}:${call.ts}`, threadId: call.ts, startsThread: true }, 2);
  expect(found).toEqual([
    {
      platformId: expect.stringContaining(CHANNEL),
      senderId: 'U0BOB',
      senderName: 'Bob',
      text: 'lunch at *one*?',
      fromBot: false,
    },
    expect.objectContaining({ senderId: BOT_USER, text: 'my word', fromBot: true }),
  ]);
});

test('of a thread its first message and the newest replies are told, from however many pages', async () => {
  const at = await scene();
  const first = at.say('how it began', { user: PERSON });
  for (let n = 0; n < 450; n += 1) at.say(`reply ${n}`, { thread_ts: first.ts });
  at.say('beside it');
  const call = at.say(`<@${BOT_USER}> well?`, { thread_ts: first.ts });
  const about = { platformId: `${CHANNEL}:${call.ts}`, threadId: first.ts };
  expect(await at.texts(about, 3)).toEqual(['how it began', 'reply 448', 'reply 449']);
});

/** A thread with a reply at each of these seconds, and a call so many seconds behind them. */
async function longThread(seconds: readonly number[], quiet = 5) {
  const at = await scene();
  const ts = (second: number) => `${1_700_000_000 + second}.000001`;
  at.say('how it began', { user: PERSON, ts: ts(0) });
  seconds.forEach((second, n) => {
    at.say(`reply ${n}`, { thread_ts: ts(0), ts: ts(second) });
  });
  const call = at.say(`<@${BOT_USER}> well?`, { thread_ts: ts(0), ts: ts((seconds.at(-1) ?? 0) + quiet) });
  at.server.calls.length = 0;
  const found = await at.earlier({ platformId: `${CHANNEL}:${call.ts}`, threadId: ts(0) });
  const calls = at.server.calls.filter(({ method }) => method === 'conversations.replies').length;
  return { found, texts: found?.map(({ text }) => text), calls };
}

const DAY = 86_400;
const last = (count: number, of: number) => Array.from({ length: count }, (_, n) => `reply ${of - count + n}`);

test.each<[string, readonly number[]]>([
  ['come evenly', Array.from({ length: 3_000 }, (_, n) => n * 300 + 1)],
  ['come by day', Array.from({ length: 3_000 }, (_, n) => Math.floor(n / 100) * DAY + (n % 100) * 10 + 1)],
  ['came at once, at last', Array.from({ length: 3_000 }, (_, n) => (n < 2_500 ? n * 10_000 : 25_000_000 + n) + 1)],
  ['fill little more than a page', Array.from({ length: 260 }, (_, n) => n * 300 + 1)],
])('of a thread whose replies %s the very newest are told, by few calls, and that some are left out', async (_name, seconds) => {
  const { found, texts, calls } = await longThread(seconds);
  expect(texts).toEqual(['how it began', ...last(29, seconds.length)]);
  expect(found?.flatMap(({ gap }, n) => (gap ? [[n, gap]] : []))).toEqual([[1, 'before']]);
  expect(calls).toBeLessThanOrEqual(8);
});

test.each([
  [3_000, 10_800, 1],
  [500, 1_800, 30],
  [2_000, DAY, 60],
])('of a thread of %i replies within %i s that has been quiet for %i days, the newest are told', async (count, within, days) => {
  const seconds = Array.from({ length: count }, (_, n) => Math.floor((within * (n + 1)) / count) + 1);
  const { texts, calls } = await longThread(seconds, days * DAY);
  expect(texts).toEqual(['how it began', ...last(29, count)]);
  expect(calls).toBeLessThanOrEqual(8);
});

test('where the calls do not reach far enough, fewer are told, and these are the newest', async () => {
  // All at the beginning, then one a month.
  const seconds = Array.from({ length: 3_012 }, (_, n) => (n < 3_000 ? n + 1 : (n - 2_999) * 30 * DAY));
  const { found, texts = [], calls } = await longThread(seconds);
  expect(texts.length).toBeGreaterThan(3);
  expect(texts).toEqual(['how it began', ...last(texts.length - 1, seconds.length)]);
  expect(found?.[1]).toMatchObject({ gap: 'before' });
  expect(calls).toBe(8);
});

test('where the newest cannot be reached at all, that is said, and nothing older is told in their place', async () => {
  const at = await scene();
  const first = at.say('how it began', { user: PERSON });
  at.say('reply', { thread_ts: first.ts });
  const answer = (item: object) => ({ ok: true, messages: [first, item], has_more: true });
  const call = async () => answer({ ...first, thread_ts: first.ts, ts: `${Number(first.ts) + 1}`, text: 'old' });
  const tail = await threadTail({ channel: CHANNEL, ts: first.ts, wanted: 29, now: Number(first.ts) + 1e6, call });
  expect(tail).toEqual({ first, newest: [], isPartial: true });
});

test('a command, which has no place among the messages, is told the newest of all', async () => {
  const at = await scene();
  at.say('one');
  expect(await at.texts({ platformId: 'command:1.2' })).toEqual(['one']);
});

test('a platform that refuses is quoted, and a channel before its login says so', async () => {
  const at = await scene();
  at.server.fault({ method: 'conversations.history', kind: 'error', error: 'missing_scope' });
  await expect(at.earlier({ platformId: `${CHANNEL}:1.2` })).rejects.toThrow('missing_scope');
});

test('topic and description of a channel are told, and nothing where there are none', async () => {
  const at = await scene();
  const about = (chatId: string) => at.channel.about?.(inbound({ chatId }), AbortSignal.timeout(10_000));
  at.say('one');
  expect(await about(CHANNEL)).toBe('');
  at.server.workspace.about.set(CHANNEL, { topic: { value: 'The move' }, purpose: { value: ' Who packs what ' } });
  expect(await about(CHANNEL)).toBe('Topic: The move\nDescription: Who packs what');
  await expect(about('C0NONE')).rejects.toThrow();
});
