// A channel that breaks, in the real daemon: what it owes is paid by its successor, and nobody else waits.
import { expect, test } from 'vitest';
import type { Channel } from '../core/channel.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel, testChannelEntry } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';

test('F33 an answer that is ready while its channel is gone goes out by the next one, once; the other channel answers at once and its owner is told', async () => {
  await using dir = await tempDir();
  const lives: TestChannel[] = [];
  const work = (): Channel => {
    const life = new TestChannel('work');
    lives.push(life);
    return life;
  };
  const home = new TestChannel('home');
  const gate = Promise.withResolvers<void>();
  const model = scriptedModel(async ({ messages }) => {
    const asked = JSON.stringify(messages.at(-1));
    if (asked.includes('slow question')) await gate.promise;
    return { text: asked.includes('slow question') ? 'slow answer' : 'quick answer' };
  });
  const channel = { allowed_senders: ['*'] };
  await using rig = await testDaemon({
    dataDir: dir.path,
    model,
    gateway: {
      channels: [
        { ...channel, type: 'work' },
        { ...channel, type: 'home' },
      ],
      owner: [
        { channel: 'work', chat_id: 'owner' },
        { channel: 'home', chat_id: 'owner' },
      ],
    },
    daemon: { registry: { work: testChannelEntry(work), home: testChannelEntry(() => home) } },
  });
  const [first] = lives;
  await first?.deliver({ text: 'slow question' });
  await until('it is asked', () => model.requests.length === 1);
  first?.host?.ended(new TypeError('a defect'));
  gate.resolve();
  await home.deliver({ text: 'quick question' });
  await until('the other one answered', () => home.texts().length === 1);
  expect(rig.daemon.channels.state('work')).toBe('down');
  const second = await until('it is made anew', () => lives[1]);
  await until('the answer came', () => second.texts().length === 1);
  expect([first?.texts(), second.texts(), home.texts()]).toEqual([[], ['slow answer'], ['quick answer']]);
  expect(home.texts('owner')).toEqual([expect.stringMatching(/^⚠️ Channel work is down: a defect/)]);
  await second.deliver({ text: 'another one', platformId: 'later' });
  await until('it goes on as before', () => second.texts().length === 2);
});
