import { expect, it } from 'vitest';
import type { RunEvent } from '../core/events.ts';
import { FakeClock, outbound, tempDir, until } from '../testing/fakes.ts';
import { admit, done, LANE, message, part } from '../testing/journal-rows.ts';
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
  const about = { at: clock.now(), messageId: 'm', session: 's', channel: 'c' };
  const { note } = journal.record;
  note({ ...about, type: 'model.text', text: 'secret words' });
  note({ ...about, type: 'finished', outcome: 'answered', ms: 1 });
  note({ ...about, type: 'model.failed', model: 'p/m', code: 'GH2104', kind: 'network', detail: 'secret words', ms: 3 });
  expect(await journal.record.after(0, { limit: 9 })).toEqual([]);
  await journal.accept([admit(message(1))]);
  const [first, ...rest] = await journal.record.after(0, { limit: 9 });
  expect(first?.event).toEqual({ ...about, type: 'model.failed', model: 'p/m', code: 'GH2104', kind: 'network', ms: 3 });
  expect(types(rest)).toEqual(['received', 'admitted']);
  note({ ...about, type: 'tool.done', tool: 'read_file', callId: '1', ok: true, ms: 2 });
  await until('the event is on disk', async () => (await journal.record.of('m')).length === 2);
  const found = await journal.record.after(0, { limit: 9, session: 's' });
  expect(types(found)).toEqual(['model.failed', 'tool.done']);
});

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
