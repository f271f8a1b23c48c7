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

test.each<[what: string, stop: Partial<InboundMessage>, stopped: number[]]>([
  ['in a thread: that thread', { threadId: 't1' }, [0]],
  ['outside of threads: all of the chat', {}, [0, 1]],
  ['that starts a thread: all of the chat', { threadId: 't9', startsThread: true }, [0, 1]],
  ['as an edit of what started a thread: that thread', { threadId: 't1', startsThread: true, kind: 'edit', targetId: 'm0' }, [0]],
  ['in another chat: nothing here', { chatId: 'C2' }, []],
  ['of somebody else, outside of threads: nothing of hers', { senderId: 'bob' }, []],
  ['of somebody else in her thread: that thread', { senderId: 'bob', threadId: 't2' }, [1]],
])('a stop %s', async (_what, stop, expected) => {
  await using dir = await tempDir();
  const stopped: number[] = [];
  const model = scriptedModel((request, signal) => {
    const place = Number(request.messages.at(-1)?.content.at(-1));
    signal.addEventListener('abort', () => stopped.push(place), { once: true });
    return { hang: true };
  });
  await using rig = await testDaemon({ dataDir: dir.path, model, entry: { allowed_groups: ['*'], allowed_senders: ['*'] } });
  for (const [n, place] of PLACES.entries())
    await rig.channel.deliver({ ...CHANNEL, platformId: `m${n}`, text: `work ${n}`, ...place });
  await until('the model is at work', () => model.requests.length === PLACES.length);
  await rig.channel.deliver({ ...CHANNEL, text: '/stop', ...stop });
  await until('it is answered', () => rig.channel.sent.length === 1);
  await until('the turns ended', () => rig.daemon.lanes.stats().running === PLACES.length - expected.length);
  expect(stopped.sort()).toEqual(expected);
  expect((await rig.daemon.journal.counts()).inbox).toMatchObject({ RUNNING: PLACES.length - expected.length });
  expect(rig.channel.sent[0]?.text).toBe(expected.length > 0 ? '🛑 Cancelled.' : 'Nothing is being worked on.');
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
