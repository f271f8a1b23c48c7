import { expect, test } from 'vitest';
import {
  archivedSession,
  chatKey,
  chatOfLane,
  inTopic,
  isArchived,
  isLaneOf,
  isSessionOf,
  laneKey,
  senderOf,
  sessionKey,
  sessionOfArchive,
  sessionOfChat,
  topicOf,
} from './ids.ts';

test.each(['plain', 'a/b#c%d', '%2F', 'line\nbreak', 'half \ud83d pair', '%D83D', 'ü 🌱'])(
  'a lane tells the channel and account it is of: %j',
  (name) => {
    const lane = laneKey({ channel: name, account: `${name}!`, chatId: 'c/1', threadId: 't' });
    expect(senderOf(lane)).toEqual({ channel: name, account: `${name}!` });
  },
);

test('A37 the account joins the session of a chat when the name of its channel first stood for another one', () => {
  const ref = { channel: 'mail:1', account: 'b@x/y:z', chatId: 'c/1' };
  expect(sessionKey(ref)).toBe('_main:mail%3A1:c%2F1');
  expect(sessionKey(ref, ref.account)).toBe(sessionKey(ref));
  expect(sessionKey(ref, 'a@x')).toBe('_main:mail%3A1/b@x%2Fy%3Az:c%2F1');
  const others = [
    { ...ref, account: 'c@x' },
    { ...ref, account: '' },
    { channel: 'mail:1/b@x', account: 'y:z', chatId: 'c/1' },
    { channel: 'mail', account: '1/b@x/y:z', chatId: 'c/1' },
  ];
  const keys = [ref, ...others].flatMap((one) => [sessionKey(one), sessionKey(one, 'a@x')]);
  // The first three are of one channel, and share the session that its first account has.
  expect(new Set(keys).size).toBe(keys.length - 2);
});

test.each([undefined, '7'])('a session is known as that of its chat with and without the account, thread %s', (threadId) => {
  const ref = { channel: 'test', account: 'bot', chatId: 'c', ...(threadId === undefined ? {} : { threadId }) };
  for (const [key, chat] of [
    [sessionKey(ref), '_main:test:c'],
    [sessionKey(ref, 'first'), '_main:test/bot:c'],
  ] as const) {
    expect(sessionOfChat(key, ref)).toBe(chat);
    expect(isSessionOf(key, ref)).toBe(true);
    expect(isSessionOf(key, { ...ref, chatId: 'd' })).toBe(false);
  }
  expect(isSessionOf(sessionKey(ref, 'first'), { ...ref, account: 'other' })).toBe(false);
});

test('a topic has a lane and a session of its own, which are those of its chat', () => {
  const ref = { channel: 'c', account: 'b', chatId: 'x#y/z' };
  const [lane, session, chat] = [inTopic(laneKey(ref), 'my work'), inTopic(sessionKey(ref), 'my work'), chatKey(ref)];
  expect([chatOfLane(lane), chatOfLane(`${lane}##2`), chatOfLane(`${chat}/#job:1`)]).toEqual([chat, chat, chat]);
  expect([isLaneOf(lane, chat), isLaneOf(`${lane}##2`, chat), isLaneOf(`${chat}1#w`, chat)]).toEqual([true, true, false]);
  expect([topicOf(session), topicOf(sessionKey(ref)), topicOf(archivedSession(session))]).toEqual(['my work', '', 'my work']);
  expect([topicOf(`${session}#run:1`), topicOf(sessionKey({ ...ref, threadId: 't' })), topicOf('job:1')]).toEqual(
    Array.from({ length: 3 }, () => undefined),
  );
  for (const one of [session, archivedSession(session), archivedSession(sessionKey(ref))]) {
    expect([isSessionOf(one, ref), isSessionOf(one, { ...ref, chatId: 'other' })]).toEqual([true, false]);
    expect(sessionOfChat(one, ref)).toBe(sessionKey(ref));
  }
});

test('a session and its archive are told apart, and named by one another', () => {
  const archive = archivedSession('s#work');
  expect([isArchived(archive), isArchived('s#archived'), sessionOfArchive(archive), archivedSession(archive)]).toEqual([
    ...[true, false, 's#work', archive],
  ]);
});
