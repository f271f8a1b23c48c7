import { expect, onTestFinished, test } from 'vitest';
import { channel as descriptor } from '../../../channels/slack/index.ts';
import type { Channel } from '../../core/channel.ts';
import { channelDeps } from '../../testing/channel-deps.ts';
import { answeringClock, TestHost } from '../../testing/channel-host.ts';
import { until } from '../../testing/fakes.ts';
import { startSlackDoors } from './slack-doors.ts';

/** Person 0 writes in the pane, 1 uses a shortcut, 2 chooses in a menu. */
const ASKED = ['in the pane', 'about a message', 'from a menu'];

test('what is written comes until it is acknowledged; what is pressed comes once, and is not offered again', async () => {
  const platform = await startSlackDoors();
  onTestFinished(() => platform[Symbol.asyncDispose]());
  await platform.begin('');
  const start = async (host: TestHost): Promise<Channel> => {
    const deps = channelDeps({ name: 'slack', secret: (name) => platform.env[name] ?? '', clock: answeringClock() });
    const channel = await descriptor.create(descriptor.settings.parse(platform.channel['settings']), deps);
    onTestFinished(() => channel.stop());
    await channel.start(host, new AbortController().signal);
    return channel;
  };
  const words = ({ text, replyTo }: TestHost['accepted'][number]): string => replyTo?.text ?? text;

  for (const [person, text] of ASKED.entries()) await platform.write(person, text);
  // No person presses anything while the bot is away.
  expect([await platform.waiting(), await platform.notOffered?.()]).toEqual([4, []]);

  const blocked = Promise.withResolvers<never>();
  blocked.promise.catch(() => 'whether or not it is waited for');
  const deaf = Object.assign(new TestHost(), { receive: () => blocked.promise });
  const dying = await start(deaf);
  await until('all were pushed', async () => (await platform.notOffered?.())?.length === 0 && (await platform.waiting()) === 3);
  const stopped = dying.stop();
  blocked.reject(new Error('the process is gone'));
  await stopped;
  await until('the socket is gone', async () => (await platform.notOffered?.())?.length === 2);
  expect([await platform.waiting(), await platform.notOffered?.()]).toEqual([1, ASKED.slice(1)]);

  const next = new TestHost();
  await start(next);
  await until('the rest is acknowledged', async () => (await platform.waiting()) === 0);
  expect(next.accepted.map(words)).toEqual(ASKED.slice(0, 1));
  await platform.write(5, 'once more');
  const pressed = await until('it arrived', () => next.accepted[1]);
  expect(words(pressed)).toBe('once more');
  await until('it is acknowledged', async () => (await platform.waiting()) === 0);
  expect(await platform.notOffered?.()).toEqual(ASKED.slice(1));
});
