import { expect, test } from 'vitest';
import { inbound } from '../../../src/testing/fakes.ts';
import { earlierMessages } from './earlier.ts';

const CHANNEL = '200000000000000001';
const THREAD = '200000000000000002';
const BOT = '300000000000000001';
const ASKING = '400000000000000009';

function said(n: number, content: string, author: object = { id: '500000000000000001', username: 'ada', global_name: 'Ada' }) {
  return { id: `40000000000000000${n}`, type: 0, channel_id: CHANNEL, content, author, attachments: [] };
}

async function ask(answer: unknown, message: object = {}, limit = 30) {
  const asked: unknown[] = [];
  const about = inbound({ channel: 'discord', account: BOT, chatId: CHANNEL, platformId: ASKING, isGroup: true, ...message });
  const found = await earlierMessages(about, limit, async (...call) => {
    asked.push(call);
    return answer;
  });
  return { asked, found };
}

test('of a channel the messages before the one that calls are told, oldest first, with names and whose they are', async () => {
  const { asked, found } = await ask([said(3, 'my word', { id: BOT, username: 'gatehouse', bot: true }), said(1, 'lunch?')]);
  expect(asked).toEqual([[`/channels/${CHANNEL}/messages`, { limit: '30', before: ASKING }]]);
  expect(found).toEqual([
    { platformId: '400000000000000001', senderId: '500000000000000001', senderName: 'Ada', text: 'lunch?', fromBot: false },
    expect.objectContaining({ senderId: BOT, text: 'my word', fromBot: true }),
  ]);
});

test('a thread is asked for by its own id, and never for more than one page', async () => {
  const { asked } = await ask([], { threadId: THREAD }, 500);
  expect(asked).toEqual([[`/channels/${THREAD}/messages`, { limit: '100', before: ASKING }]]);
});

test('a command, which has no place among the messages, asks for the newest; an answer of another form is none', async () => {
  const { asked, found } = await ask({ message: 'no' }, { platformId: 'interaction:1' });
  expect(asked).toEqual([[`/channels/${CHANNEL}/messages`, { limit: '30' }]]);
  expect(found).toEqual([]);
});
