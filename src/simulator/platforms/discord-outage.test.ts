import { expect, onTestFinished, test } from 'vitest';
import { channel as descriptor } from '../../../channels/discord/index.ts';
import type { Channel } from '../../core/channel.ts';
import { channelDeps } from '../../testing/channel-deps.ts';
import { TestHost } from '../../testing/channel-host.ts';
import { until } from '../../testing/fakes.ts';
import { backoffClock } from '../discord/proxy.ts';
import { startDiscordOutage } from './discord-outage.ts';

test('a message pushed to a session that is over counts as not offered until the bot shows that it knows the chat', async () => {
  const platform = await startDiscordOutage();
  onTestFinished(() => platform[Symbol.asyncDispose]());
  await platform.begin();
  const settings = descriptor.settings.parse({ ...platform.channel.settings, slash_commands: false });
  const start = async (host: TestHost): Promise<{ channel: Channel; started: Promise<void> }> => {
    const deps = channelDeps({ name: 'discord', secret: (name) => platform.env[name] ?? '', clock: backoffClock() });
    const channel = await descriptor.create(settings, deps);
    onTestFinished(() => channel.stop());
    return { channel, started: channel.start(host, new AbortController().signal) };
  };
  const host = new TestHost();
  const texts = (): readonly string[] => host.accepted.slice(platform.greetings).map(({ text }) => text);
  const greeted = await start(host);
  await until('the greetings arrived', () => host.accepted.length === platform.greetings);
  await greeted.channel.stop();

  // Pushed, and nothing can be stored.
  await platform.write(1, 'pushed once');
  const blocked = Promise.withResolvers<never>();
  blocked.promise.catch(() => 'whether or not anybody waits for it');
  const deaf = Object.assign(new TestHost(await host.cursor()), { receive: () => blocked.promise });
  const cut = await start(deaf);
  await until('the message was pushed', async () => (await platform.waiting()) === 0);
  expect(await platform.notOffered()).toEqual([]);
  const stopped = cut.channel.stop();
  blocked.reject(new Error('the process is gone'));
  await Promise.allSettled([stopped, cut.started]);
  await until('the session is over', async () => (await platform.notOffered()).length > 0);

  await platform.write(0, 'while away');
  await platform.write(3, 'stored in time');
  const again = await start(host);
  await until('two more arrived', () => texts().length === 2);
  await again.channel.stop();
  expect(texts()).toEqual(['while away', 'stored in time']);
  await start(host);
  await until('the known chats were read', async () => (await platform.notOffered()).length === 1);
  expect(await platform.notOffered()).toEqual(['pushed once']);
});
