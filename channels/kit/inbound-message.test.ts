import { expect, test } from 'vitest';
import { unreadableMessage } from './inbound-message.ts';

test('what cannot be read is a refused message that says nothing, under the same key when it comes again', () => {
  const ref = { channel: 'work', account: 'bot', platformId: 'event:7' };
  const message = unreadableMessage(ref, 5);
  expect(message).toMatchObject({ ...ref, text: '', media: [], refusal: 'unreadable', timestamp: 5 });
  expect(unreadableMessage(ref, 6).id).toBe(message.id);
  expect(unreadableMessage({ ...ref, platformId: 'event:8' }, 5).id).not.toBe(message.id);
});
