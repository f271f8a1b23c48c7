import { expect, onTestFinished, test } from 'vitest';
import { channel as descriptor } from '../../../channels/discord/index.ts';
import type { Channel } from '../../core/channel.ts';
import { channelDeps } from '../../testing/channel-deps.ts';
import { TestHost } from '../../testing/channel-host.ts';
import { outbound, until } from '../../testing/fakes.ts';
import { backoffClock, startDiscordProxy } from '../discord/proxy.ts';
import { DiscordDoors } from './discord-doors.ts';

/** Opens a post; chooses in a menu. */
const [ASKER, CHOOSER] = [2, 4];

async function doors() {
  const proxy = await startDiscordProxy();
  const platform = new DiscordDoors(proxy);
  onTestFinished(() => platform[Symbol.asyncDispose]());
  await platform.begin();
  const settings = descriptor.settings.parse({ ...platform.channel.settings, slash_commands: false });
  const start = async (host: TestHost): Promise<{ readonly channel: Channel; readonly started: Promise<void> }> => {
    const deps = channelDeps({ name: 'discord', secret: (name) => platform.env[name] ?? '', clock: backoffClock() });
    const channel = await descriptor.create(settings, deps);
    onTestFinished(() => channel.stop());
    return { channel, started: channel.start(host, new AbortController().signal) };
  };
  return { proxy, platform, start };
}

test('a choice comes again with its session, and without it is not offered again', async () => {
  const { proxy, platform, start } = await doors();
  /** A process that stores nothing any more, from the time that it was told of a choice. */
  const dies = async (before: TestHost, text: string): Promise<void> => {
    const blocked = Promise.withResolvers<never>();
    blocked.promise.catch(() => 'whether or not it is waited for');
    const deaf = Object.assign(new TestHost(await before.cursor()), { receive: () => blocked.promise });
    await platform.write(CHOOSER, text);
    expect(await platform.waiting()).toBe(1);
    const { channel, started } = await start(deaf);
    await until('it was pushed', async () => (await platform.waiting()) === 0);
    const stopped = channel.stop();
    blocked.reject(new Error('the process is gone'));
    await Promise.allSettled([stopped, started]);
  };

  const host = new TestHost();
  const first = await start(host);
  await until('the greeting arrived', () => host.accepted.length === 1);
  await first.channel.stop();

  await dies(host, 'with its session');
  const again = await start(host);
  await until('it came again', () => host.accepted.length === 2);
  expect(host.accepted[1]).toMatchObject({ text: 'with its session', isGroup: false });
  expect(await platform.notOffered()).toEqual([]);
  await again.channel.stop();

  await dies(host, 'without it');
  proxy.gateway.forgetSessions();
  await start(host);
  await until('it counts as gone', async () => (await platform.notOffered()).includes('without it'));
  expect(host.accepted.map(({ text }) => text)).toEqual(['hello', 'with its session']);
});

test.each([
  ['the session that the post was pushed to', false],
  ['the list of threads and the history', true],
])('a post in a forum is a conversation of its own, with its title, from %s', async (_from, isForgotten) => {
  const { proxy, platform, start } = await doors();
  const host = new TestHost();
  const first = await start(host);
  await until('the greeting arrived', () => host.accepted.length === 1);
  await first.channel.stop();
  await platform.write(ASKER, 'in a post');
  if (isForgotten) proxy.gateway.forgetSessions();
  const { channel } = await start(host);
  const post = await until('the post arrived', () => host.accepted[1]);
  expect(post).toMatchObject({ text: '[forum post: Something to ask]\nin a post', isGroup: true, mentionsBot: true });
  // "The ID of the thread" is that of its first message; the answer opens no other thread.
  expect(post).toMatchObject({ threadId: post.platformId, chatId: '901000000000000000' });
  expect(post).not.toHaveProperty('startsThread');
  const { channel: name, account, chatId, threadId = '', replyContext = {} } = post;
  const answer = outbound({ channel: name, account, chatId, threadId, replyContext, text: 'the answer' });
  const options = { plain: false, signal: new AbortController().signal };
  expect(await channel.send(answer, options)).toMatchObject({ kind: 'sent' });
  expect((await platform.seen()).map(({ person, text }) => [person, text])).toEqual([[ASKER, 'the answer']]);
  // A forum itself takes no messages.
  const { threadId: _, ...toForum } = { ...answer, key: 'to the forum', replyContext: {} };
  expect(await channel.send(toForum, options)).toMatchObject({ kind: 'refused' });
});
