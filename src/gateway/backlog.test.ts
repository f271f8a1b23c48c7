import { expect, test } from 'vitest';
import { FakeClock, inbound, tempDir } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';
import { Backlog } from './backlog.ts';

const said = (text: string, platformId = text) => inbound({ text, platformId, senderName: 'Ada', isGroup: true });

test('the newest lines are kept, oldest first, bounded in number, length and age, each once', async () => {
  const clock = new FakeClock();
  const backlog = new Backlog(clock);
  for (let n = 0; n < 40; n += 1) backlog.remember('lane', said(`line ${n}`));
  backlog.remember('lane', said('line 39'));
  expect(backlog.lines('lane').map(({ text }) => text)).toEqual(Array.from({ length: 30 }, (_, n) => `line ${n + 10}`));
  backlog.remember('lane', said('x'.repeat(5_000)));
  expect(backlog.lines('lane').at(-1)?.text).toHaveLength(1_001);
  for (let n = 0; n < 20; n += 1) backlog.remember('lane', said(`${n}${'y'.repeat(900)}`));
  expect(backlog.lines('lane').reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(8_000);
  await clock.advance(24 * 3_600_000 + 1);
  expect(backlog.lines('lane')).toEqual([]);
  for (let n = 0; n < 501; n += 1) backlog.remember(`lane ${n}`, said('hi'));
  expect(backlog.lines('lane 0')).toEqual([]);
  expect(backlog.lines('lane 500')).toHaveLength(1);
});

test('what was said in a group before the agent was addressed is background of that message, once, and of that group only', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(() => 'done');
  const entry = { allowed_senders: ['ada', 'bob'], allowed_groups: ['*'] };
  await using rig = await testDaemon({ dataDir: dir.path, model, entry });
  const group = { chatId: 'g', isGroup: true, senderId: 'ada', senderName: 'Ada' };
  await rig.channel.deliver({ ...group, text: 'lunch is at one', platformId: '1' });
  await rig.channel.deliver({ ...group, senderId: 'eve', senderName: 'Eve', text: 'a stranger speaks', platformId: '2' });
  await rig.channel.deliver({ ...group, chatId: 'other', text: 'elsewhere', platformId: '3' });
  await rig.channel.deliver({
    ...group,
    senderId: 'bob',
    senderName: 'Bob',
    text: 'when is lunch?',
    mentionsBot: true,
    platformId: '4',
  });
  await rig.daemon.gateway.idle();
  await rig.channel.deliver({ ...group, text: 'thanks', mentionsBot: true, platformId: '5' });
  await rig.daemon.gateway.idle();
  const [first, second] = model.requests.map(({ messages }) => messages.at(-1)?.content);
  expect(first).toBe('[said in this group since you last spoke, not to you:\n  [Ada] lunch is at one\n]\n[Bob] when is lunch?');
  expect(second).toBe('[Ada] thanks');
});
