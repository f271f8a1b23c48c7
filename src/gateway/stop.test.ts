/** What `/stop` reaches. Everything is real but the platform and the model. */
import { expect, test } from 'vitest';
import type { InboundMessage } from '../core/message.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const CHANNEL = { chatId: 'C1', isGroup: true, senderId: 'ada', senderName: 'Ada', mentionsBot: true };
const PLACES: readonly Partial<InboundMessage>[] = [
  { threadId: 't1', startsThread: true },
  { threadId: 't2' },
  { chatId: 'C1/t1' },
  { chatId: 'C10', threadId: 't1' },
];

const OPEN = {
  limits: { person_turns_at_once: PLACES.length },
  entry: { allowed_groups: ['*'], allowed_senders: ['*'] },
  gateway: { owner: [{ channel: 'test', chat_id: 'C10', sender_ids: ['boss'] }] },
};

test.each<[what: string, stop: Partial<InboundMessage>, stopped: number[]]>([
  ['in a thread: that thread', { threadId: 't1' }, [0]],
  ['outside of threads: all of the chat', {}, [0, 1]],
  ['that starts a thread: all of the chat', { threadId: 't9', startsThread: true }, [0, 1]],
  ['as an edit of what started a thread: that thread', { threadId: 't1', startsThread: true, kind: 'edit', targetId: 'm0' }, [0]],
  ['in another chat: nothing here', { chatId: 'C2' }, []],
  ['of somebody else, outside of threads: nothing of hers', { senderId: 'bob' }, []],
  ['of somebody else in her thread: nothing of hers', { senderId: 'bob', threadId: 't2' }, []],
  ['of the owner, outside of threads: all of the chat', { senderId: 'boss' }, [0, 1]],
  ['of the owner in her thread: that thread', { senderId: 'boss', threadId: 't2' }, [1]],
  ['of somebody in a group of the owner: nothing of hers', { senderId: 'bob', chatId: 'C10', threadId: 't1' }, []],
])('a stop %s', async (_what, stop, expected) => {
  await using dir = await tempDir();
  const stopped: number[] = [];
  const model = scriptedModel((request, signal) => {
    const place = Number(request.messages.at(-1)?.content.at(-1));
    signal.addEventListener('abort', () => stopped.push(place), { once: true });
    return { hang: true };
  });
  await using rig = await testDaemon({ dataDir: dir.path, model, ...OPEN });
  for (const [n, place] of PLACES.entries())
    await rig.channel.deliver({ ...CHANNEL, platformId: `m${n}`, text: `work ${n}`, ...place });
  await until('the model is at work', () => model.requests.length === PLACES.length);
  await rig.channel.deliver({ ...CHANNEL, text: '/stop', ...stop });
  await until('it is answered', () => rig.channel.sent.length === 1);
  await until('the turns ended', () => rig.daemon.lanes.stats().running === PLACES.length - expected.length);
  expect(stopped.sort()).toEqual(expected);
  expect((await rig.daemon.journal.counts()).inbox).toMatchObject({ RUNNING: PLACES.length - expected.length });
  const idle = stop.senderId === 'boss' ? 'Nothing is being worked on.' : 'Nothing of yours is being worked on.';
  expect(rig.channel.sent[0]?.text).toBe(expected.length > 0 ? '🛑 Cancelled.\nWork of: Ada' : idle);
});

test('in a group the row that a member stops is their own: what others asked for runs on or waits its turn', async () => {
  await using dir = await tempDir();
  const go = Promise.withResolvers<void>();
  const model = scriptedModel(async ({ messages }) => {
    await go.promise;
    return `done: ${messages.at(-1)?.content}`;
  });
  await using rig = await testDaemon({ dataDir: dir.path, model, ...OPEN });
  const bob = { ...CHANNEL, senderId: 'bob', senderName: 'Bob *the* <b>' };
  await rig.channel.deliver({ ...CHANNEL, text: 'one' });
  await until('the model is at work', () => model.requests.length === 1);
  await rig.channel.deliver({ ...bob, text: 'two' });
  await rig.channel.deliver({ ...CHANNEL, text: 'three' });
  await rig.channel.deliver({ ...bob, text: 'stop' });
  go.resolve();
  await rig.daemon.gateway.idle();
  const whose = 'Work of: Bob \\*the\\* \\<b\\>';
  expect(rig.channel.texts('C1')).toEqual([`🛑 Cancelled.\n${whose}`, 'done: [from Ada] one', 'done: [from Ada] three']);
});

test('the owner ends in a group what several people asked for, and the answer names them', async () => {
  await using dir = await tempDir();
  const model = scriptedModel([{ hang: true }, 'done']);
  await using rig = await testDaemon({ dataDir: dir.path, model, ...OPEN });
  await rig.channel.deliver({ ...CHANNEL, text: 'one' });
  await until('the model is at work', () => model.requests.length === 1);
  for (const senderName of ['Bob', 'Ada'])
    await rig.channel.deliver({ ...CHANNEL, senderId: senderName, senderName, text: 'more' });
  await rig.channel.deliver({ ...CHANNEL, senderId: 'boss', text: 'annuler' });
  await rig.channel.deliver({ ...CHANNEL, text: 'and now?' });
  await rig.daemon.gateway.idle();
  expect(rig.channel.texts('C1')).toEqual(['🛑 Annulé.\nTravail de: Ada, Bob', 'done']);
});

test('a stop is told in its own language that there was nothing to stop, once', async () => {
  await using dir = await tempDir();
  await using rig = await testDaemon({ dataDir: dir.path, model: scriptedModel(() => 'done') });
  await rig.channel.deliver({ text: 'hello' });
  await rig.daemon.gateway.idle();
  for (const text of ['arrête', 'arrête', 'stop']) await rig.channel.deliver({ text, platformId: text });
  await rig.daemon.gateway.idle();
  expect(rig.channel.texts()).toEqual(['done', 'Rien n’est en cours.', 'Nothing is being worked on.']);
});
