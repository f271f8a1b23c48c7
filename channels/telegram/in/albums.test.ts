import type { Update } from 'grammy/types';
import { expect, test } from 'vitest';
import { markedWords } from '../../../src/lib/marks.ts';
import { inbound } from '../../../src/testing/fakes.ts';
import { composed, ours } from '../../kit/senders-words.ts';
import { firstOpenAlbum, joinAlbums, untilOpenAlbum } from './albums.ts';

let id = 0;
function update(chat: number, group?: string): Update {
  id += 1;
  const message = {
    message_id: id,
    date: 1,
    chat: { id: chat, type: 'private', first_name: 'Ada' },
    ...(group && { media_group_id: group }),
  };
  return { update_id: id, message } as Update;
}

test('an album is open until something else of its chat follows, whatever other chats say', () => {
  expect(firstOpenAlbum([update(1), update(2)])).toBeUndefined();
  expect(firstOpenAlbum([update(1, 'a'), update(2)])).toBe(0);
  expect(firstOpenAlbum([update(1, 'a'), update(1, 'a'), update(1)])).toBeUndefined();
  expect(firstOpenAlbum([update(1), update(1, 'a'), update(1, 'b'), update(1, 'b')])).toBe(2);
});

test('of a full poll an album at the end is left for the next poll, of any other everything is taken', () => {
  const many = Array.from({ length: 98 }, () => update(1));
  expect(untilOpenAlbum([...many, update(2, 'a'), update(2, 'a')])).toHaveLength(98);
  expect(untilOpenAlbum([...many, update(2, 'a')])).toHaveLength(99);
  expect(untilOpenAlbum([...many, update(2, 'a'), update(2)])).toHaveLength(100);
});

test('an album that fills a poll by itself is taken: there is nothing to wait for in front of it', () => {
  expect(untilOpenAlbum(Array.from({ length: 100 }, () => update(1, 'a')))).toHaveLength(100);
});

test('what we wrote above each picture of an album stays ours, and the words below stay the sender’s', () => {
  const mark = '[forwarded from Bob, not written by the sender]';
  const read = ['', '[from Eve] look'].map((words) => ({
    update: update(1, 'a'),
    message: inbound(composed(ours(mark), words)),
  }));
  const [album] = joinAlbums(read);
  expect(markedWords(album?.text ?? '', album?.marks)).toBe(`${mark}\n${mark}\n\\[from Eve] look`);
});
