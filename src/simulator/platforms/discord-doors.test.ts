import { expect, onTestFinished, test } from 'vitest';
import { channel as descriptor } from '../../../channels/discord/index.ts';
import type { Channel } from '../../core/channel.ts';
import { channelDeps } from '../../testing/channel-deps.ts';
import { TestHost } from '../../testing/channel-host.ts';
import { until } from '../../testing/fakes.ts';
import { backoffClock, startDiscordProxy } from '../discord/proxy.ts';
import { DiscordDoors } from './discord-doors.ts';

/** Chooses in a menu. */
const CHOOSER = 3;

test('a choice comes again with its session, and without it is not offered again', async () => {
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
