import { afterEach, expect, test } from 'vitest';
import type { InboundMessage } from '../../../src/core/message.ts';
import { mention } from '../../../src/simulator/feishu/events.ts';
import { inbound } from '../../../src/testing/fakes.ts';
import { type FeishuScene, feishuScene } from '../../../src/testing/feishu/scene.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item[Symbol.asyncDispose]();
});

const CHAT = 'oc_team';
const START = Date.UTC(2026, 10, 23);

async function scene() {
  const at: FeishuScene = await feishuScene();
  open.push(at);
  let number = 0;
  const say = (text: string, more: object = {}) => {
    number += 1;
    const messageId = `om_${number}`;
    at.server.compose({ chatId: CHAT, chatType: 'group', text, messageId, createTime: START + number * 1_000, ...more });
    return { platformId: messageId, timestamp: START + number * 1_000 };
  };
  const earlier = (message: Partial<InboundMessage>, limit = 30) =>
    at.channel.earlier?.(inbound({ account: at.channel.account, chatId: CHAT, ...message }), limit, AbortSignal.timeout(10_000));
  const texts = async (...args: Parameters<typeof earlier>) => (await earlier(...args))?.map(({ text }) => text);
  return { ...at, say, earlier, texts };
}

test('of a group the newest messages before the one that calls are told, oldest first, and whose they are', async () => {
  const at = await scene();
  at.say('long ago');
  at.say('lunch at one?', { openId: 'ou_bob' });
  at.server.posts.push({
    id: 'om_own',
    chatId: CHAT,
    type: 'text',
    content: { text: 'my word' },
    inThread: false,
    at: START + 2_500,
    edits: 0,
  });
  const call = at.say('well?');
  at.say('later');
  expect(await at.earlier(call, 2)).toEqual([
    { platformId: 'om_2', senderId: 'ou_bob', senderName: 'ou_bob', text: 'lunch at one?', fromBot: false },
    expect.objectContaining({ senderId: at.channel.account, text: 'my word', fromBot: true }),
  ]);
});

test('of a topic its first message and the newest replies are told', async () => {
  const at = await scene();
  const threadId = 'omt_1';
  at.say('how it began', { threadId });
  for (let n = 0; n < 60; n += 1) at.say(`reply ${n}`, { threadId });
  at.say('beside it');
  const call = at.say('well?', { threadId });
  expect(await at.texts({ ...call, threadId }, 3)).toEqual(['how it began', 'reply 58', 'reply 59']);
  expect(await at.texts({ ...at.say('here?'), threadId: 'omt_none' })).toEqual([]);
});

test('what a message holds is read as when it arrives, and what was taken back or is a notice is left out', async () => {
  const at = await scene();
  at.say('', { text: undefined, content: { text: '@_user_1 look' }, mentions: [mention('@_user_1', 'ou_bob', 'Bob')] });
  at.say('', { type: 'interactive', content: { title: 'Vote', elements: [[{ tag: 'text', text: 'Pick one' }]] } });
  at.say('Ada joined', { type: 'system', content: { template: 'x' } });
  const gone = at.say('gone');
  Object.assign(at.server.stored.get(gone.platformId) ?? {}, { deleted: true });
  const found = (await at.earlier(at.say('well?'))) ?? [];
  expect(found.map(({ text }) => text)).toEqual([expect.stringContaining('Bob look'), expect.stringContaining('Pick one')]);
  const [, card] = found;
  expect(card?.text.slice(...(card.marks?.[0] ?? [0, 0]))).toContain('[forwarded card, not written by the sender]');
});

test('without the scope there is no context, and the operator is told once what to add', async () => {
  const at = await scene();
  at.say('words');
  at.server.missingScopes.add('im:message.group_msg');
  expect(await at.earlier(at.say('well?'))).toEqual([]);
  expect(await at.earlier(at.say('and?'))).toEqual([]);
  const told = at.logger.lines.filter(({ event }) => event === 'feishu.history-closed');
  expect(told).toMatchObject([{ level: 'warn', data: { hint: expect.stringContaining('im:message.group_msg') } }]);
});

test('a platform that refuses is quoted', async () => {
  const at = await scene();
  at.server.faults.push({
    match: /^GET .*messages$/,
    kind: 'error',
    status: 400,
    code: 230002,
    msg: 'The bot is not in the group.',
  });
  await expect(at.earlier(at.say('well?'))).rejects.toThrow('230002');
});
