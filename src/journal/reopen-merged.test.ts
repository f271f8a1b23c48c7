import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { InboundMessage } from '../core/message.ts';
import { FakeClock, inbound, tempDir } from '../testing/fakes.ts';
import { Database } from './database.ts';
import { openJournal } from './open.ts';

const PLACE = { lane: 'test/bot/g', session: '_main:test:g' };
const said = (id: string, senderId: string, more: Partial<InboundMessage> = {}) =>
  inbound({ platformId: id, chatId: 'g', isGroup: true, mentionsBot: true, senderId, text: `words ${id}`, ...more });

/** One request of Ada with the words of Ben and Cleo behind hers, whose first model call is under way. */
async function collected() {
  const dir = await tempDir();
  const at = await openJournal({ dir: dir.path, clock: new FakeClock(), remains: () => ({ lines: [], tools: [] }) });
  const { journal } = at;
  const admit = (message: InboundMessage, more = {}) => journal.accept([{ kind: 'admit', message, ...PLACE, ...more }]);
  for (const [id, who] of [
    ['a1', 'ada'],
    ['b1', 'ben'],
    ['c1', 'cleo'],
  ] as const)
    await admit(said(id, who));
  const [first, ...others] = await journal.waiting(PLACE.lane, 9);
  const row = await journal.claim(first?.seq ?? 0, undefined, { merged: others.map(({ seq }) => seq), superseded: [] });
  const stop = () =>
    journal.accept([
      {
        kind: 'answer',
        message: said('s1', 'ada'),
        ...PLACE,
        outcome: 'stop',
        parts: [],
        cancels: { where: 'chat', principal: 'test:ada' },
      },
    ]);
  const left = async () => (await journal.waiting(PLACE.lane, 9)).map(({ message }) => `${message?.senderId}: ${message?.text}`);
  return {
    ...{ at, journal, admit, row, stop, left },
    [Symbol.asyncDispose]: async () => {
      await at[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('what was corrected meanwhile is answered as corrected, once the request that it was joined to is stopped', async () => {
  await using one = await collected();
  await one.admit(said('e1', 'ben', { kind: 'edit', targetId: 'b1', text: 'new words' }));
  await one.stop();
  expect(await one.left()).toEqual(['cleo: words c1', 'ben: new words']);
});
test('what was taken back meanwhile is not answered, once the request that it was joined to is stopped', async () => {
  await using one = await collected();
  await one.admit(said('d1', 'ben', { kind: 'delete', targetId: 'b1', text: '' }));
  await one.stop();
  expect(await one.left()).toEqual(['cleo: words c1']);
});
test('the first message of a joined request is taken back: the words of others wait anew, and a stop of its author leaves them', async () => {
  await using one = await collected();
  await one.journal.release(one.row?.seq ?? 0, one.row?.generation ?? 0);
  await one.admit(said('d1', 'ada', { kind: 'delete', targetId: 'a1', text: '' }));
  await one.stop();
  expect(await one.left()).toEqual(['ben: words b1', 'cleo: words c1']);
});
test('who interrupts their own request does not end the words of others that were joined to it', async () => {
  await using one = await collected();
  await one.admit(said('a2', 'ada'), { during: { kind: 'interrupt', ofOthers: false } });
  expect(await one.left()).toEqual(['ben: words b1', 'cleo: words c1', 'ada: words a2']);
});
test('a note to a request does not make it count as read: a stop leaves the words of others', async () => {
  await using one = await collected();
  await one.admit(said('a2', 'ada'), { during: { kind: 'steer', note: ({ text }: InboundMessage) => text } });
  await one.stop();
  expect(await one.left()).toEqual(['ben: words b1', 'cleo: words c1']);
});

test('the words of a person whose request was denied once, and who is listed, wait anew', async () => {
  await using one = await collected();
  await one.at.pairing.request({ channel: 'test', account: 'bot', senderId: 'ben', senderName: 'X', chatId: 'c' }, 0);
  await one.at.pairing.deny({ channel: 'test', senderId: 'ben' }, 1);
  await one.stop();
  expect(await one.left()).toEqual(['ben: words b1', 'cleo: words c1']);
});
test('an erasure of a person with two linked ids lets none of their own words wait anew', async () => {
  await using dir = await tempDir();
  await using at = await openJournal({ dir: dir.path, clock: new FakeClock(), remains: () => ({ lines: [], tools: [] }) });
  const { journal } = at;
  {
    using db = new Database(join(dir.path, 'journal.db'), { busyMs: 5_000 });
    const link = "INSERT INTO person (principal, id, name, role, linked_at) VALUES (?, 'same', 'N', 'member', 0)";
    for (const one of ['test:eve', 'test:eve2']) db.run(link, one);
  }
  for (const [id, who] of [
    ['a1', 'eve'],
    ['b1', 'eve2'],
  ] as const)
    await journal.accept([{ kind: 'admit', message: said(id, who), ...PLACE }]);
  const [first, second] = await journal.waiting(PLACE.lane, 9);
  await journal.claim(first?.seq ?? 0, undefined, { merged: [second?.seq ?? 0], superseded: [] });
  await journal.commit([{ kind: 'erase', who: { channel: 'test', senderId: 'eve2' }, by: 'cli' }]);
  expect(await journal.waiting(PLACE.lane, 9)).toEqual([]);
});

test('what was steered into a request, and corrected or taken back meanwhile, does not wait anew with its old words', async () => {
  await using one = await collected();
  const steer = { during: { kind: 'steer', note: ({ text }: InboundMessage) => text } };
  for (const id of ['a2', 'a3', 'a4']) await one.admit(said(id, 'ada'), steer);
  await one.admit(said('e1', 'ada', { kind: 'edit', targetId: 'a2', text: 'new words' }));
  await one.admit(said('d1', 'ada', { kind: 'delete', targetId: 'a3', text: '' }));
  await one.journal.commit([], {
    ...{ seq: one.row?.seq ?? 0, generation: one.row?.generation ?? 0 },
    end: { state: 'DONE', outcome: 'answered' },
  });
  expect(await one.left()).toEqual(['ada: words a4', 'ada: new words']);
});
