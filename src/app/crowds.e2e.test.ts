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
  const flood = refused.find(({ reason }) => reason.startsWith('flood:'))?.count ?? 0;
  // A twentieth of the mark may wait in a lane; one message was answered with the notice.
  expect([rig.channel.texts('loud').length, flood]).toEqual([20 + 1, 100 - 20 - 1]);
  expect(inbox).toMatchObject({ NEW: 0, RUNNING: 0 });
});

test('F44 edits of what was answered or never seen fill no more than the share of their sender, who is told once', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(async ({ messages }) => {
    if (messages.at(-1)?.content.includes('flood')) await held.opened;
    return 'answer';
  });
  await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { high_water: 400 } });
  const loud = { chatId: 'loud', senderId: 'bob' };
  const edit = async (targetId: string, text: string) =>
    await rig.channel.deliver({ ...loud, kind: 'edit', platformId: `${targetId} ${text}`, targetId, text });
  await rig.channel.deliver({ ...loud, text: 'hello', platformId: 'old 0' });
  await rig.daemon.gateway.idle();
  for (let n = 0; n < 100; n += 1) await edit(`old ${n}`, `flood ${n}`);
  // What waits may still be changed, and it adds nothing.
  await edit('old 15', 'flood, corrected');
  await rig.channel.deliver({ chatId: 'new', senderId: 'ada', text: 'hello', platformId: 'n' });
  await until('the new chat is answered', () => rig.channel.texts('new').length === 1);
  const told = rig.channel.texts('loud').filter((text) => text.includes('Too many messages'));
  held.open();
  await rig.daemon.gateway.idle();
  const { inbox, refused } = await rig.daemon.journal.counts();
  const flood = refused.find(({ reason }) => reason.startsWith('flood:'))?.count ?? 0;
  expect([told.length, rig.channel.texts('loud').length, flood]).toEqual([1, 1 + 20 + 1, 100 - 20 - 1]);
  expect(model.requests.filter(({ messages }) => messages.at(-1)?.content.endsWith('flood, corrected'))).toHaveLength(1);
  expect(inbox).toMatchObject({ NEW: 0, RUNNING: 0 });
});

test('F44 help without end is answered some times and then refused, and the other people of the channel are answered', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => 'answer');
  // What is to be sent stays: a platform that takes one message a second would be far behind.
  const held = gate();
  await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { high_water: 100 } });
  const { send } = rig.channel;
  rig.channel.send = async (part, options) => {
    if (part.chatId === 'loud') await held.opened;
    return await send.call(rig.channel, part, options);
  };
  const deliver = (chatId: string, senderId: string, n: number, text: string) =>
    rig.channel.deliver({ chatId, senderId, text, platformId: `${chatId}${n}` });
  for (let n = 0; n < 150; n += 1) await deliver('loud', 'bob', n, '/help');
  expect(await deliver('new', 'ada', 0, 'hello')).toMatchObject({ kind: 'accepted' });
  await until('ada is answered', () => rig.channel.texts('new').length === 1);
  await deliver('loud', 'bob', 150, '/stop');
  held.open();
  await rig.daemon.gateway.idle();
  const { refused } = await rig.daemon.journal.counts();
  const capped = refused.find(({ reason }) => reason === 'loop-cap')?.count ?? 0;
  expect(rig.channel.texts('loud').length).toBeLessThan(100);
  expect(rig.channel.texts('loud').length + capped).toBe(150);
});

test('F44 when all that may wait waits, the platform is asked to hold its messages, and the operator is told why', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(async () => {
    await held.opened;
    return 'answer';
  });
  await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { high_water: 5 } });
  const deliver = (n: number) => rig.channel.deliver({ chatId: `c${n}`, senderId: `s${n}`, text: 'hello', platformId: `m${n}` });
  for (let n = 0; n < 5; n += 1) expect(await deliver(n)).toMatchObject({ kind: 'accepted' });
  for (let n = 5; n < 8; n += 1) expect(await deliver(n)).toMatchObject({ kind: 'busy' });
  // Words that only look like a button wait as others do.
  expect(await rig.channel.deliver({ chatId: 'c9', senderId: 's9', text: 's:hello' })).toMatchObject({ kind: 'busy' });
  const reason = 'messages up to gateway.high_water (5) wait';
  const told = { type: 'intake.held', channel: 'test', code: 'GH1509', reason };
  const { record } = rig.daemon.journal;
  await until('it is in the record', async () =>
    (await record.after(0, { limit: 1_000 })).some(({ event }) => event.type === told.type),
  );
  const events = (await record.after(0, { limit: 1_000 })).map(({ event }) => event);
  expect(events.filter(({ type }) => type === told.type)).toMatchObject([told]);
  expect(rig.daemon.observations.errors).toMatchObject([{ code: 'GH1509', detail: `test: ${reason}` }]);
  const { observations } = rig.daemon;
  expect(observations.held(Date.now())).toEqual(['test']);
  held.open();
  await rig.daemon.gateway.idle();
  expect(await deliver(5)).toMatchObject({ kind: 'accepted' });
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
