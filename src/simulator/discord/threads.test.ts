import { expect, test } from 'vitest';
import { threadRefusal, threadStart } from './threads.ts';

const TEXT = { isAllowed: true, type: 0, exists: false };

test('a thread is started from a message, and from nothing else', () => {
  const route = '/channels/110000000000000010/messages/120000000000000012/threads';
  expect(threadStart('POST', route)).toEqual({ channel: '110000000000000010', message: '120000000000000012' });
  expect(threadStart('GET', route)).toBeUndefined();
  expect(threadStart('POST', '/channels/110000000000000010/threads')).toBeUndefined();
});

test.each([
  [{ name: 'x'.repeat(100) }, {}, undefined],
  [{ name: 'cats', auto_archive_duration: 1_440 }, { type: 5 }, undefined],
  [{ name: 'x'.repeat(101) }, {}, 50_035],
  [{ name: ' ' }, {}, 50_035],
  [{ name: 'cats', auto_archive_duration: 90 }, {}, 50_035],
  [{ name: 'cats' }, { isAllowed: false }, 50_013],
  [{ name: 'cats' }, { type: 15 }, 50_024],
  [{ name: 'cats' }, { type: 2 }, 50_024],
  [{ name: 'cats' }, { exists: true }, 160_004],
])('%j in %j comes to %s', (body, world, code) => {
  expect(threadRefusal(body, { ...TEXT, ...world })?.body['code']).toBe(code);
});
