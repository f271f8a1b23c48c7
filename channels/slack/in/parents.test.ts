import { afterEach, expect, test } from 'vitest';
import type { InboundMessage } from '../../../src/core/message.ts';
import type { SlackFault } from '../../../src/simulator/slack/server.ts';
import { BOT_ID, BOT_USER, PERSON, type StoredMessage } from '../../../src/simulator/slack/workspace.ts';
import { quickClock } from '../../../src/testing/channel-host.ts';
import { outbound, until } from '../../../src/testing/fakes.ts';
import { type SlackSetup, type SlackSetupOptions, slackSetup } from '../../../src/testing/slack/setup.ts';
import { channel as descriptor } from '../index.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item[Symbol.asyncDispose]();
});

const CHANNEL = 'C0TEST';
const CALL = `<@${BOT_USER}> what is this?`;

async function scene(clock = quickClock(0.2), settings: SlackSetupOptions['settings'] = {}) {
  const at: SlackSetup = await slackSetup(descriptor, { clock, settings });
  open.push(at);
  const { channel, host } = await at.start();
  const { server } = at;
  const asked = () => server.calls.filter(({ method, args }) => method === 'conversations.replies' && args['limit'] === '1');
  const reply = async (parent: StoredMessage, text = CALL, user = PERSON): Promise<InboundMessage> => {
    const { ts } = server.say({ channel: parent.channel, user, text, thread_ts: parent.ts });
    return await until('it arrived', () => host.accepted.find(({ platformId }) => platformId === `${parent.channel}:${ts}`));
  };
  const picture = () => server.file({ name: 'plan.png', mime: 'image/png', bytes: Buffer.from('png') });
  return { ...at, channel, host, asked, reply, picture };
}

test('called into a thread, the message it began with comes along with words, files and author; asked for once', async () => {
  const at = await scene();
  at.server.names.set('U0BOB', 'Bob');
  const file = at.picture();
  const parent = at.server.store({ channel: CHANNEL, user: 'U0BOB', text: 'the *plan*', files: [file] });
  expect((await at.reply(parent)).replyTo).toEqual({
    ...{ platformId: `${CHANNEL}:${parent.ts}`, fromBot: false, senderId: 'U0BOB' },
    ...{ text: 'the *plan*', origin: 'written by Bob, not by the sender' },
    media: [expect.objectContaining({ kind: 'photo', ref: file.id, name: 'plan.png' })],
  });
  expect((await at.reply(parent, `<@${BOT_USER}> and now?`)).replyTo).toBeUndefined();
  expect(at.asked()).toHaveLength(1);
});

test('a stranger who calls first does not keep the first message from who calls next, and it is fetched once', async () => {
  const at = await scene();
  const parent = at.server.store({ channel: CHANNEL, user: 'U0BOB', text: 'the plan' });
  expect((await at.reply(parent, CALL, 'U0MALLORY')).replyTo).toMatchObject({ text: 'the plan' });
  expect((await at.reply(parent)).replyTo).toMatchObject({ text: 'the plan', senderId: 'U0BOB' });
  expect((await at.reply(parent, `<@${BOT_USER}> and now?`)).replyTo).toBeUndefined();
  expect(at.asked()).toHaveLength(1);
});

test('in a direct conversation the answer that a thread hangs on comes along as our own', async () => {
  const at = await scene();
  const parent = at.server.workspace.add({ channel: 'D0ADA', user: BOT_USER, bot_id: BOT_ID, text: 'an answer' });
  const { replyTo } = await at.reply(parent, 'why?');
  expect(replyTo).toMatchObject({ fromBot: true, senderId: BOT_USER, text: 'an answer' });
});

test.each([
  ['a channel', CHANNEL, {}],
  ['a direct conversation with threads', 'D0ADA', { direct_threads: true }],
])('in %s a message of ours that we were shown, and that a thread hangs on, comes along', async (_name, chatId, settings) => {
  const at = await scene(quickClock(0.2), settings);
  at.server.store({ channel: chatId, text: 'there is such a conversation' });
  at.server.echoes = true;
  const report = outbound({ channel: 'slack', chatId, text: 'the report' });
  await at.channel.send(report, { plain: false, signal: new AbortController().signal });
  await until('it came back', () => at.host.offered.some(({ refusal }) => refusal === 'own-message'));
  const ts = at.server.sends.at(-1)?.ts ?? '';
  at.server.say({ channel: chatId, text: 'and row 5?', thread_ts: ts, parent_user_id: BOT_USER });
  const reply = await until('the reply arrived', () => at.host.accepted.find(({ text }) => text === 'and row 5?'));
  expect(reply.replyTo).toMatchObject({ fromBot: true, text: 'the report' });
});

test('a thread under a message of ours is one that we wrote in once we answer there, also for the next process', async () => {
  const at = await scene();
  at.server.store({ channel: CHANNEL, text: 'there is such a conversation' });
  at.server.echoes = true;
  const send = async (text: string, place: object = {}) => {
    const part = outbound({ channel: 'slack', chatId: CHANNEL, key: text, text, ...place });
    await at.channel.send(part, { plain: false, signal: new AbortController().signal });
    return at.server.sends.at(-1)?.ts ?? '';
  };
  const [one, two] = [await send('a report'), await send('another report')];
  const cameBack = () => at.host.offered.filter(({ refusal }) => refusal === 'own-message').length;
  await until('they came back', () => cameBack() === 2);
  await send('my word', { threadId: one });
  await until('it came back', () => cameBack() === 3);
  await at.channel.stop();
  await at.start(at.host);
  const replyTo = async (thread_ts: string) => {
    const { ts } = at.server.say({ channel: CHANNEL, text: CALL, thread_ts, parent_user_id: BOT_USER });
    return (await until('it arrived', () => at.host.accepted.find(({ platformId }) => platformId.endsWith(ts)))).replyTo;
  };
  expect(await replyTo(one)).toEqual({ platformId: `${CHANNEL}:${one}`, fromBot: true });
  expect(await replyTo(two)).toMatchObject({ fromBot: true, text: 'another report' });
});

test('the bare name under a thread points at what the thread began with, also where the agent answered before', async () => {
  const at = await scene();
  const parent = at.server.store({ channel: CHANNEL, user: 'U0BOB', text: 'the plan' });
  const bare = `<@${BOT_USER}>`;
  const message = await at.reply(parent, bare);
  expect(message).toMatchObject({ text: '', mentionsBot: true, replyTo: { text: 'the plan', senderId: 'U0BOB' } });
  const part = outbound({ channel: 'slack', chatId: CHANNEL, threadId: parent.ts, text: 'my word' });
  await at.channel.send(part, { plain: false, signal: new AbortController().signal });
  expect((await at.reply(parent, `${bare}:`)).replyTo).toMatchObject({ text: 'the plan' });
  expect(at.asked()).toHaveLength(1);
  // Alone it points at nothing.
  const { ts } = at.server.say({ channel: CHANNEL, text: bare });
  const alone = await until('it was offered', () => at.host.offered.find(({ platformId }) => platformId.endsWith(ts)));
  expect([alone.refusal, alone.replyTo]).toEqual(['empty', undefined]);
});

test('the bare name points at the words that the thread begins with now', async () => {
  const at = await scene();
  const parent = at.server.store({ channel: CHANNEL, user: 'U0BOB', text: 'report A' });
  await at.reply(parent, `<@${BOT_USER}>`);
  const edited = { user: 'U0BOB', ts: at.server.workspace.nextTs() };
  const place = { channel: CHANNEL, channel_type: 'channel', ts: at.server.workspace.nextTs(), event_ts: edited.ts };
  const message = { ...parent, text: 'report B', edited };
  const change = { type: 'message', subtype: 'message_changed', hidden: true, ...place };
  at.server.event({ ...change, message, previous_message: { ...parent } });
  Object.assign(parent, { text: 'report B', edited });
  await until('the edit was offered', () => at.host.offered.some(({ kind }) => kind === 'edit'));
  expect((await at.reply(parent, `<@${BOT_USER}>`)).replyTo).toMatchObject({ text: 'report B' });
});

test('nothing is fetched for talk among people, for the first message itself, nor in a thread that we wrote in', async () => {
  const at = await scene();
  const talk = at.server.store({ channel: CHANNEL, text: 'lunch?' });
  expect((await at.reply(talk, 'at one')).mentionsBot).toBe(false);
  const asking = at.server.say({ channel: CHANNEL, text: CALL });
  await until('it arrived', () => at.host.accepted.some(({ platformId }) => platformId.endsWith(asking.ts)));
  await at.reply(asking, `<@${BOT_USER}> well?`);
  const joined = at.server.store({ channel: CHANNEL, text: 'a talk' });
  const part = outbound({ channel: 'slack', chatId: CHANNEL, threadId: joined.ts, text: 'my word' });
  await at.channel.send(part, { plain: false, signal: new AbortController().signal });
  await at.reply(joined);
  expect(at.asked()).toEqual([]);
});

test.each<[string, Omit<SlackFault, 'method'>, string]>([
  ['a missing scope', { kind: 'error', error: 'missing_scope' }, 'missing_scope'],
  ['a thread that is gone', { kind: 'error', error: 'thread_not_found' }, 'thread_not_found'],
  ['a broken connection', { kind: 'cut' }, 'no answer'],
  ['a platform that hangs', { kind: 'hang' }, 'no answer'],
])('%s costs the first message and not the one that calls: it arrives with a note', async (_name, fault, reason) => {
  const at = await scene(quickClock(fault.kind === 'hang' ? 20 : 0.2));
  const parent = at.server.store({ channel: CHANNEL, user: PERSON, text: 'the plan' });
  at.server.fault({ method: 'conversations.replies', ...fault });
  const message = await at.reply(parent);
  expect(message).toMatchObject({ text: 'what is this?', mentionsBot: true });
  expect(message.replyTo?.origin).toBe(`the first message of this thread, which could not be fetched: ${reason}`);
});

test('a platform that wants fewer questions is asked none until its time is over', async () => {
  const at = await scene();
  at.server.fault({ method: 'conversations.replies', kind: 'limit', retryAfter: 60 });
  for (const text of ['one', 'two']) {
    const parent = at.server.store({ channel: CHANNEL, text });
    expect((await at.reply(parent)).replyTo?.origin).toMatch(/too many requests/);
  }
  expect(at.asked()).toHaveLength(1);
});
