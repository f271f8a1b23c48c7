// Many messages and many chats through the real daemon; the platform and the model are in memory.
import { expect, test } from 'vitest';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';

test('F44 of a flood its own share waits, it is told once, the rest is refused, and a new chat is answered', async () => {
  await using dir = await tempDir();
  const held = gate();
  const isFlood = (text: string | undefined): boolean => text?.startsWith('flood') ?? false;
  const model = scriptedModel(async ({ messages }) => {
    if (isFlood(messages.at(-1)?.content)) await held.opened;
    return 'answer';
  });
  await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { high_water: 400 } });
  for (let n = 0; n < 100; n += 1)
    await rig.channel.deliver({ chatId: 'loud', senderId: 'bob', text: `flood ${n}`, platformId: `f${n}` });
  await rig.channel.deliver({ chatId: 'new', senderId: 'ada', text: 'hello', platformId: 'n' });
  await until('the new chat is answered', () => rig.channel.texts('new').length === 1);
  expect(rig.channel.texts('loud')).toHaveLength(1);
  held.open();
  await rig.daemon.gateway.idle();
  const { inbox, refused } = await rig.daemon.journal.counts();
  const flood = refused.find(({ reason }) => reason === 'flood')?.count ?? 0;
  // A twentieth of the mark may wait in a lane; one message was answered with the notice.
  expect([rig.channel.texts('loud').length, flood]).toEqual([20 + 1, 100 - 20 - 1]);
  expect(inbox).toMatchObject({ NEW: 0, RUNNING: 0 });
});

test('F46 a crowd that came and went leaves neither work nor timers behind', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => 'answer');
  await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { max_sessions: 50 } });
  const crowd = async (round: number) => {
    await Promise.all(
      Array.from({ length: 150 }, (_, n) =>
        rig.channel.deliver({ chatId: `c${n}`, senderId: `s${n}`, text: 'hello', platformId: `m${round}-${n}` }),
      ),
    );
    await rig.daemon.gateway.idle();
  };
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  await crowd(0);
  const before = timers();
  for (let round = 1; round < 3; round += 1) await crowd(round);
  expect(rig.channel.sent).toHaveLength(3 * 150);
  // Other parts have timers of their own, now and then; a crowd would leave one a chat.
  await until('no timer of a chat is left', () => timers() < before + 50);
  expect(rig.daemon.journal.load('all', '')).toEqual({ messages: 0, bytes: 0 });
});
