import { expect, test } from 'vitest';
import { changedMessage, inboundMessage, unreadableMessage } from './inbound-message.ts';

test('what cannot be read is a refused message that says nothing, under the same key when it comes again', () => {
  const ref = { channel: 'work', account: 'bot', platformId: 'event:7' };
  const message = unreadableMessage(ref, 5);
  expect(message).toMatchObject({ ...ref, text: '', media: [], refusal: 'unreadable', timestamp: 5 });
  expect(unreadableMessage(ref, 6).id).toBe(message.id);
  expect(unreadableMessage({ ...ref, platformId: 'event:8' }, 5).id).not.toBe(message.id);
});

const BY = { channel: 'work', account: 'bot' };

test('a message is new, said by one person to the bot alone, unless the facts say otherwise', () => {
  const facts = { chatId: 'c', platformId: '7', senderId: 'ada', timestamp: 5 };
  const blank = { kind: 'message', senderName: 'ada', text: '', media: [], isGroup: false, mentionsBot: false };
  expect(inboundMessage(BY, facts)).toEqual({ ...BY, ...facts, ...blank, id: 'work/bot/7' });
  expect(inboundMessage(BY, { ...facts, senderName: 'Ada', isGroup: true })).toMatchObject({ senderName: 'Ada', isGroup: true });
});

test('a change has a key of its own and names the message it is about', () => {
  const message = inboundMessage(BY, { chatId: 'c', platformId: '7', senderId: 'ada', timestamp: 5, text: 'teh' });
  const edit = changedMessage(message, { kind: 'edit', platformId: '7:edit:6', timestamp: 6, text: 'the' });
  expect(edit).toMatchObject({ kind: 'edit', id: 'work/bot/7:edit:6', targetId: '7', text: 'the', senderId: 'ada' });
});
