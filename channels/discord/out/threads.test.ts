/** Threads that answers open, against the simulated platform. */
import { afterEach, expect, test } from 'vitest';
import { DM, discordSetup } from '../../../src/testing/discord/setup.ts';
import { until } from '../../../src/testing/fakes.ts';
import { channel as descriptor } from '../index.ts';

const THREAD = '401000000000000001';
const signal = new AbortController().signal;
const plain = { plain: false, signal };

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});

async function scene(settings: object = {}) {
  const at = await discordSetup(descriptor, { settings: { auto_threads: true, ...settings } });
  open.push(at);
  const { proxy } = at;
  return {
    ...at,
    /** Messages and threads that the bot made. */
    posts: (): readonly string[] =>
      proxy.calls.flatMap(({ call, accepted }) => (accepted && /^POST .*\/(messages|threads)$/.test(call) ? [call] : [])),
    /** What stands in a channel or thread, the oldest first. */
    async words(place: string): Promise<readonly unknown[]> {
      const headers = { authorization: `Bot ${proxy.peer.token}` };
      const answer = await fetch(`${proxy.peer.url}/v10/channels/${place}/messages`, { headers });
      const messages = answer.ok ? ((await answer.json()) as { content: string }[]) : [];
      return messages.reverse().map(({ content }) => content);
    },
  };
}

test('the answer to a message of a channel opens a thread of that message, named by its first words', async () => {
  const { sent, proxy, channel, room, say, partOf, posts, words } = await scene({ auto_archive_duration: 60 });
  const question = await say(`<@${proxy.peer.botId}> what about <@202000000000000002> and\nthe cats?`);
  expect(question).toMatchObject({ chatId: room, threadId: question.platformId, startsThread: true, isGroup: true });
  await sent(channel.send(partOf(question), plain));
  await sent(channel.send(partOf(question, { key: 'k#1', ordinal: 1, count: 2, text: 'and more' }), plain));
  const thread = question.platformId;
  const start = `POST /channels/${room}/messages/${thread}/threads`;
  expect(posts()).toEqual([start, `POST /channels/${thread}/messages`, `POST /channels/${thread}/messages`]);
  const made = proxy.calls.find(({ call }) => call === start)?.body;
  expect(made).toEqual({ name: 'what about and the cats?', auto_archive_duration: 60 });
  expect(await words(thread)).toEqual(['the answer', 'and more']);
  // A message of another place cannot be referred to.
  expect(proxy.sends().some(({ body }) => 'message_reference' in body)).toBe(false);
});

test('what is said in that thread is followed, and answered there without another one', async () => {
  const { sent, proxy, channel, room, say, partOf, posts } = await scene();
  const question = await say('hello');
  await sent(channel.send(partOf(question), plain));
  const thread = question.platformId;
  const next = await say('and then?', { channelId: thread, parentChannelId: room });
  expect(next).toMatchObject({ chatId: room, threadId: thread, mentionsBot: true, text: 'and then?' });
  expect(next).not.toHaveProperty('startsThread');
  await sent(channel.send(partOf(next, { key: 'next#0' }), plain));
  expect(posts().filter((call) => call.endsWith('/threads'))).toHaveLength(1);
  expect(proxy.sends().at(-1)?.body).toMatchObject({ message_reference: { message_id: next.platformId } });
});

test.each(['drop', 'cut'] as const)('a thread whose answer was lost (%s) is found again by the next process', async (kind) => {
  const { sent, proxy, channel, room, say, partOf, again, words } = await scene();
  const question = await say('hello');
  proxy.fault({ call: /\/threads$/, kind });
  expect(await channel.send(partOf(question), plain)).toMatchObject({ kind: 'retry', scope: 'part' });
  await channel.stop();
  await sent((await again()).send(partOf(question), plain));
  expect(await words(question.platformId)).toEqual(['the answer']);
  expect(await words(room)).toEqual(['hello']);
});

test('an answer whose own call was lost is there once, whichever process sends it again', async () => {
  const { sent, proxy, channel, say, partOf, again, words } = await scene();
  const question = await say('hello');
  proxy.fault({ call: new RegExp(`^POST /channels/${question.platformId}/messages$`), kind: 'drop' });
  expect(await channel.send(partOf(question), plain)).toMatchObject({ kind: 'unknown' });
  await channel.stop();
  await sent((await again()).send(partOf(question), plain));
  expect(await words(question.platformId)).toEqual(['the answer']);
});

test('without the permission the answer stands in the channel, and the operator is told once what to do', async () => {
  const { sent, proxy, channel, host, logger, room, say, partOf, words, again } = await scene();
  proxy.withoutThreads.add(room);
  const question = await say('hello');
  const first = await sent(channel.send(partOf(question), plain));
  await sent(channel.send(partOf(question, { key: 'k#1', ordinal: 1, text: 'and more' }), plain));
  expect(await words(room)).toEqual(['hello', 'the answer', 'and more']);
  expect(proxy.sends()[0]?.body).toMatchObject({ message_reference: { message_id: question.platformId } });
  expect(host.states.at(-1)).toMatchObject({ state: 'healthy' });
  expect(host.states.at(-1)?.detail).toMatch(/in the channel and not in a thread .* in 1 channels: .* Create Public Threads/);
  await sent(channel.send(partOf(await say('again?'), { key: 'other#0' }), plain));
  expect(logger.lines.filter(({ event }) => event === 'discord.no-thread')).toHaveLength(1);
  // A process that knows nothing of it finds the message all the same.
  await channel.stop();
  const next = await again();
  expect(await next.edit?.(first, partOf(question, { text: 'changed' }), plain)).toEqual({ kind: 'sent', platformId: first });
  expect((await words(room))[1]).toBe('changed');
  proxy.withoutThreads.clear();
  await sent(next.send(partOf(await say('now?'), { key: 'third#0' }), plain));
  expect(host.states.at(-1)).toEqual({ state: 'healthy' });
});

test('what stands in the channel because no thread could be opened is taken away there', async () => {
  const { sent, proxy, channel, room, say, partOf, words } = await scene();
  proxy.withoutThreads.add(room);
  const question = await say('hello');
  const platformId = await sent(channel.send(partOf(question), plain));
  const { chatId, platformId: threadId } = question;
  await channel.withdraw?.({ chatId, threadId, platformId }, signal);
  expect(await words(room)).toEqual(['hello']);
});

test('where the bot may not write in threads, the answer stands in the channel', async () => {
  const { sent, proxy, channel, host, room, say, partOf, words } = await scene();
  const question = await say('hello');
  const body = { message: 'Missing Permissions', code: 50_013 };
  proxy.fault({ call: new RegExp(`^POST /channels/${question.platformId}/messages$`), kind: 'answer', status: 403, body });
  expect(await channel.send(partOf(question), plain)).toMatchObject({ kind: 'retry', afterMs: 0 });
  await sent(channel.send(partOf(question), plain));
  expect(await words(room)).toEqual(['hello', 'the answer']);
  expect(host.states.at(-1)?.detail).toMatch(/Send Messages in Threads/);
});

test('where the platform makes no threads, the answer stands in the channel, with the platform’s reason', async () => {
  const { sent, proxy, channel, host, room, say, partOf, words } = await scene();
  const question = await say('hello');
  proxy.change(room, { type: 13 });
  await sent(channel.send(partOf(question), plain));
  expect(await words(room)).toEqual(['hello', 'the answer']);
  expect(host.states.at(-1)?.detail).toMatch(/the platform says: 400 Cannot execute action on this channel type/);
});

test('an answer to a message that was deleted stands in the channel, which is no trouble of the operator’s', async () => {
  const { sent, proxy, channel, host, room, say, partOf, words } = await scene();
  const question = await say('hello');
  const body = { message: 'Unknown Message', code: 10_008 };
  proxy.fault({ call: /\/threads$/, kind: 'answer', status: 404, body });
  await sent(channel.send(partOf(question), plain));
  expect(await words(room)).toEqual(['hello', 'the answer']);
  expect(host.states.at(-1)?.detail).toBeUndefined();
});

test('an answer whose thread was deleted meanwhile stands in the channel', async () => {
  const { sent, proxy, channel, room, say, partOf, words } = await scene();
  const question = await say('hello');
  await sent(channel.send(partOf(question), plain));
  const body = { message: 'Unknown Channel', code: 10_003 };
  proxy.fault({ call: new RegExp(`^POST /channels/${question.platformId}/messages$`), kind: 'answer', status: 404, body });
  const rest = partOf(question, { key: 'k#1', ordinal: 1, count: 2, text: 'and more' });
  expect(await channel.send(rest, plain)).toMatchObject({ kind: 'retry', afterMs: 0 });
  await sent(channel.send(rest, plain));
  expect(await words(room)).toEqual(['hello', 'and more']);
});

test('a platform that is busy holds the thread up, and the answer with it', async () => {
  const { proxy, channel, say, partOf, words } = await scene();
  const question = await say('hello');
  const headers = { 'retry-after': '3', 'x-ratelimit-scope': 'user' };
  const body = { message: 'slow down', retry_after: 3, global: false };
  proxy.fault({ call: /\/threads$/, kind: 'answer', status: 503, body: 'no' });
  expect(await channel.send(partOf(question), plain)).toMatchObject({ kind: 'retry', scope: 'part' });
  proxy.fault({ call: /\/threads$/, kind: 'answer', status: 429, headers, body });
  expect(await channel.send(partOf(question), plain)).toMatchObject({ kind: 'retry', afterMs: 3_000, scope: 'chat' });
  expect(await words(question.platformId)).toEqual([]);
});

test.each([40_006, 40_333])('after error %i, which passes, the thread is opened, and the answer stands in it', async (code) => {
  const { sent, proxy, channel, host, room, say, partOf, words } = await scene();
  const question = await say('hello');
  proxy.fault({ call: /\/threads$/, kind: 'answer', status: 403, body: { message: 'not now', code } });
  expect(await channel.send(partOf(question), plain)).toMatchObject({ kind: 'retry', scope: 'chat', afterMs: 60_000 });
  await sent(channel.send(partOf(question), plain));
  expect(await words(question.platformId)).toEqual(['the answer']);
  expect(await words(room)).toEqual(['hello']);
  expect(host.states.at(-1)?.detail).toBeUndefined();
});

test('signs of life and corrections find the message and its answer, wherever they are', async () => {
  const { sent, proxy, channel, room, say, partOf, again } = await scene();
  const question = await say('hello');
  const { chatId, platformId } = question;
  const target = { chatId, threadId: platformId, platformId };
  const accepted = (): readonly string[] =>
    proxy.calls.filter((one) => one.accepted && !/^GET/.test(one.call)).map(({ call }) => call);
  await channel.typing?.({ chatId, threadId: platformId }, signal);
  await channel.react?.(target, '👀', signal);
  const eyes = `/channels/${room}/messages/${platformId}/reactions/${encodeURIComponent('👀')}/@me`;
  expect(accepted()).toEqual([`POST /channels/${room}/typing`, `PUT ${eyes}`]);
  const answer = await sent(channel.send(partOf(question), plain));
  await channel.react?.(target, undefined, signal);
  expect(accepted()).toContain(`DELETE ${eyes}`);
  await channel.stop();
  const next = await again();
  const corrected = await next.edit?.(answer, partOf(question, { text: 'changed' }), plain);
  expect(corrected).toEqual({ kind: 'sent', platformId: answer });
  await next.typing?.({ chatId, threadId: platformId }, signal);
  expect(accepted().slice(-2)).toEqual([
    `PATCH /channels/${platformId}/messages/${answer}`,
    `POST /channels/${platformId}/typing`,
  ]);
});

test('what was said before stands in the channel, and is what the agent is shown', async () => {
  const { channel, say } = await scene();
  await say('lunch at one?');
  const question = await say('where?');
  expect(await channel.earlier?.(question, 30, signal)).toMatchObject([{ text: 'lunch at one?' }]);
});

test('a command, a private chat, a thread and the default setting open none', async () => {
  const { channel, proxy, room, say } = await scene();
  for (const message of [
    await say('/new'),
    await say('in private', { channelId: DM, guildId: undefined }),
    await say('in a thread', { channelId: THREAD, parentChannelId: room }),
  ]) {
    expect(message).not.toHaveProperty('startsThread');
    expect(message.replyContext ?? {}).not.toHaveProperty('thread');
  }
  await channel.stop();
  const off = await scene({ auto_threads: false });
  expect(await off.say('hello')).not.toHaveProperty('threadId');
  expect(proxy.sends()).toEqual([]);
});

test('an edited message keeps its conversation', async () => {
  const { proxy, host, say } = await scene();
  const question = await say('frist');
  const edited = { content: 'first', edited_timestamp: new Date().toISOString() };
  proxy.change(question.platformId, edited, 'MESSAGE_UPDATE');
  const edit = await until('the edit arrived', () => host.accepted.find(({ kind }) => kind === 'edit'));
  expect(edit).toMatchObject({ threadId: question.platformId, startsThread: true, targetId: question.platformId });
});
