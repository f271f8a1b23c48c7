import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { RunEvent } from '../core/events.ts';
import { chatKey, laneKey } from '../core/ids.ts';
import { FakeClock, outbound, tempDir, until } from '../testing/fakes.ts';
import { admit, done, LANE, message, part, refuse } from '../testing/journal-rows.ts';
import { Database } from './database.ts';
import { openJournal } from './open.ts';

const clock = new FakeClock();

const types = (events: readonly { readonly event: RunEvent }[]): string[] => events.map(({ event }) => event.type);

it('what a commit makes true is in the record with it: received, admitted, finished, and the end of each part', async () => {
  await using dir = await tempDir();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  await journal.accept([admit(message(1)), { kind: 'refuse', message: message(2), reason: 'not-mentioned' }]);
  const [row] = await journal.waiting(LANE, 1);
  const claimed = row && (await journal.claim(row.seq));
  if (!claimed) throw new Error('nothing to claim');
  await journal.finish({ ...done(claimed, [part('p', { part: outbound({ key: 'p', messageId: claimed.key }) })]), ms: 12.4 });
  const [waiting] = await journal.pending(part('p').lane, 1);
  await journal.sending(waiting?.seq ?? 0);
  await journal.settle(waiting?.seq ?? 0, { kind: 'retry', notBefore: clock.now() + 500, reason: 'busy' });
  await journal.sending(waiting?.seq ?? 0);
  await journal.settle(waiting?.seq ?? 0, { kind: 'sent', platformId: 'x' });
  const events = await journal.record.of(claimed.key);
  expect(types(events)).toEqual(['received', 'admitted', 'finished', 'part.retry', 'part.sent']);
  expect(events[2]?.event).toMatchObject({ outcome: 'answered', ms: 12, session: claimed.session, channel: 'test' });
  expect(events[3]?.event).toMatchObject({ reason: 'busy', waitMs: 500 });
  const [, refused] = await journal.record.of(message(2).id);
  expect(refused?.event).toMatchObject({ type: 'dropped', reason: 'not-mentioned' });
});

it('other events ride on the next commit, or come within a quarter of a second; words of answers and errors are not kept', async () => {
  await using dir = await tempDir();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const about = { at: clock.now(), messageId: message(1).id, session: 's', channel: 'c' };
  const { note } = journal.record;
  note({ ...about, type: 'model.text', text: 'secret words' });
  note({ ...about, type: 'finished', outcome: 'answered', ms: 1 });
  note({ ...about, type: 'model.failed', model: 'p/m', code: 'GH2104', kind: 'network', detail: 'secret words', ms: 3 });
  await journal.accept([admit(message(2))]);
  expect(types(await journal.record.after(0, { limit: 9 }))).toEqual(['received', 'admitted']);
  await journal.accept([admit(message(1))]);
  const [first, ...rest] = await journal.record.of(about.messageId);
  expect(first?.event).toEqual({ ...about, type: 'model.failed', model: 'p/m', code: 'GH2104', kind: 'network', ms: 3 });
  expect(types(rest)).toEqual(['received', 'admitted']);
  note({ ...about, messageId: 'm', type: 'tool.done', tool: 'read_file', callId: '1', ok: true, ms: 2 });
  await until('the event is on disk', async () => (await journal.record.of('m')).length === 1);
  const found = await journal.record.after(0, { limit: 9, session: 's' });
  expect(types(found)).toEqual(['model.failed', 'received', 'admitted', 'tool.done']);
});

it('what still waits for a commit is written when the journal closes', async () => {
  await using dir = await tempDir();
  {
    await using opened = await openJournal({ dir: dir.path, clock });
    opened.journal.record.note({ at: 1, messageId: 'm', type: 'started', attempt: 1, waitedMs: 0 });
  }
  await using opened = await openJournal({ dir: dir.path, clock });
  expect(types(await opened.journal.record.of('m'))).toEqual(['started']);
});

it('the events of one run and commit are one row, and are read one by one from where a reader stopped', async () => {
  await using dir = await tempDir();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  await journal.accept([admit(message(1)), admit(message(2))]);
  expect(rowsIn(dir.path)).toBe(2);
  const all = await journal.record.after(0, { limit: 9 });
  expect(all.map(({ event }) => [event.messageId, event.type])).toEqual([
    [message(1).id, 'received'],
    [message(1).id, 'admitted'],
    [message(2).id, 'received'],
    [message(2).id, 'admitted'],
  ]);
  const read: unknown[] = [];
  for (let seq = 0; ; ) {
    const [next, ...more] = await journal.record.after(seq, { limit: 1 });
    expect(more).toEqual([]);
    if (!next) break;
    expect(next.seq).toBeGreaterThan(seq);
    seq = next.seq;
    read.push(next);
  }
  expect(read).toEqual(all);
  for (let seq: number | undefined; ; ) {
    const [earlier, ...more] = await journal.record.before(seq, 1);
    expect(more).toEqual([]);
    expect(earlier).toEqual(read.pop());
    if (!earlier) break;
    seq = earlier.seq;
  }
  expect(await journal.record.before(undefined, 9)).toEqual(all);
  expect(await journal.record.before(all[3]?.seq, 2)).toEqual(all.slice(1, 3));
});

it('the latest time is not that of the newest event after the clock was set back, until a thousand rows came since', async () => {
  await using dir = await tempDir();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  expect(await journal.record.latestAt()).toBeUndefined();
  const tell = async (at: number, times: number) => {
    for (let n = 0; n < times; n += 1) journal.record.note({ type: 'channel', at, channel: 'test', state: 'healthy' });
    await until('they are on disk', async () => (await journal.record.after(0, { limit: 2_000 })).at(-1)?.event.at === at);
  };
  await tell(9_000, 1);
  await tell(10, 999);
  expect(await journal.record.latestAt()).toBe(9_000);
  await tell(11, 1);
  expect(await journal.record.latestAt()).toBe(11);
});

it('a flood of one chat writes a few rows a second, which name every message and its reason', async () => {
  await using dir = await tempDir();
  const moving = new FakeClock();
  await using opened = await openJournal({ dir: dir.path, clock: moving });
  const { journal } = opened;
  const refuseOne = (n: number) =>
    journal.accept([refuse(message(n, { chatId: 'flooded' }), n % 2 === 0 ? 'flood:chat_messages' : 'not-mentioned')]);
  for (let n = 0; n < 400; n += 1) await refuseOne(n);
  expect(rowsIn(dir.path)).toBe(4);
  await journal.accept([refuse(message(1_000, { chatId: 'elsewhere' }), 'not-mentioned')]);
  expect(rowsIn(dir.path)).toBe(5);
  await moving.advance(1_000);
  await refuseOne(400);
  expect(rowsIn(dir.path)).toBe(6);
  for (const n of [0, 3, 4, 255, 399]) {
    const events = await journal.record.of(message(n).id);
    expect(events.map(({ event }) => [event.type, 'reason' in event ? event.reason : ''])).toEqual([
      ['received', ''],
      ['dropped', n % 2 === 0 ? 'flood:chat_messages' : 'not-mentioned'],
    ]);
  }
  expect((await journal.record.about(message(300).id))?.events).toHaveLength(2);
  expect(await journal.record.about(message(2_000).id)).toBeUndefined();
  expect((await journal.record.about('last'))?.key).toBe(message(400).id);
});

it('refusals that could not be written are written with the next ones', async () => {
  await using dir = await tempDir();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  for (let n = 0; n < 6; n += 1) await journal.accept([refuse(message(n), 'flood:chat_messages')]);
  const bad = { kind: 'admit', message: message(9), session: 's', lane: undefined as unknown as string } as const;
  await expect(journal.accept([refuse(message(6), 'flood:chat_messages'), bad])).rejects.toThrow();
  expect(await journal.record.of(message(6).id)).toEqual([]);
  await journal.accept([refuse(message(6), 'flood:chat_messages')]);
  expect(types(await journal.record.of(message(6).id))).toEqual(['received', 'dropped']);
});

function rowsIn(dir: string): number {
  using db = new Database(join(dir, 'journal.db'), { readOnly: true, busyMs: 1_000 });
  return db.get<{ count: number }>('SELECT count(*) AS count FROM event')?.count ?? 0;
}

it('a write that fails takes no event with it', async () => {
  await using dir = await tempDir();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  journal.record.note({ at: 1, messageId: 'm', type: 'started', attempt: 1, waitedMs: 0 });
  // A row that cannot be written is its own failure; the transaction stands.
  const bad = { kind: 'admit', message: message(1), session: 's', lane: undefined as unknown as string } as const;
  await expect(journal.accept([bad])).rejects.toThrow();
  await until('the event is on disk', async () => (await journal.record.of('m')).length === 1);
});

it('a chat is found by its id as people write it, also where keys escape a sign of it', async () => {
  await using dir = await tempDir();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const [said, refused] = ['said', 'refused'].map((n) => message(n, { chatId: `#${n} 100%`, isGroup: true }));
  if (!said || !refused) throw new Error('no message');
  await journal.accept([admit(said, laneKey(said)), refuse(refused, 'not-mentioned')]);
  expect((await journal.record.about('#said 100%'))?.key).toBe(said.id);
  expect((await journal.record.about(chatKey(said).split('/')[2] ?? ''))?.key).toBe(said.id);
  expect((await journal.record.about('#refused 100%'))?.key).toBe(refused.id);
});

it('a message that is not known is no chat, whatever a chat of another channel is called', async () => {
  await using dir = await tempDir();
  await using opened = await openJournal({ dir: dir.path, clock: new FakeClock() });
  const { journal } = opened;
  await journal.accept([admit(message(1, { channel: 'x', account: 'test' }), 'x/test/bot/m-9')]);
  expect(await journal.record.about('bot/m-9')).toMatchObject({ key: 'x/test/m-1' });
  expect(await journal.record.about('test/bot/m-9')).toBeUndefined();
});
