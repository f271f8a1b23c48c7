import { expect, test } from 'vitest';
import type { Erasure } from '../core/erasure.ts';
import { About } from './erase-rows.ts';

test('a text names a person by their whole id: rows about another one, whose id begins so, stay', () => {
  const about = new About({ ids: [{ channel: 'telegram', senderId: '42' }], chats: [], sessions: [] } as unknown as Erasure);
  for (const text of ['telegram:42', 'by telegram:42.', '{"who":"telegram:42","n":1}', 'a telegram:421, and telegram:42'])
    expect(about.names(text), text).toBe(true);
  for (const text of ['telegram:421', 'xtelegram:42', 'telegram:4', '']) expect(about.names(text), text).toBe(false);
});
