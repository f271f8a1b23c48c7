/** What every journal must do with parts that answer no message. Run for SQLite and for the one in memory. */
import { describe, expect, it } from 'vitest';
import { chatOfLane, partKey, sentForId } from '../core/ids.ts';
import type { Journal } from '../core/journal.ts';
import { LANE, part } from '../testing/journal-rows.ts';

export interface EnqueueHarness extends AsyncDisposable {
  readonly journal: Journal;
  /** The process is killed, and another one starts on what was committed. */
  restart(): Promise<Journal>;
}

async function keys(journal: Journal, lane = LANE): Promise<readonly string[]> {
  return (await journal.pending(lane, 100)).map((row) => row.part.key);
}

async function sendFirst(journal: Journal): Promise<number> {
  const [row] = await journal.pending(LANE, 1);
  if (!row || !(await journal.sending(row.seq))) throw new Error('there is no part to send');
  return row.seq;
}

export function enqueueContract(name: string, create: () => Promise<EnqueueHarness>): void {
  describe(`${name}: parts without a message`, () => {
    it('stand in their lane in the order they came, and a key that is there already changes nothing', async () => {
      await using harness = await create();
      const { journal } = harness;
      await journal.enqueue([part('a'), part('b')]);
      await journal.enqueue([{ ...part('a'), expiresAt: 1 }, part('x', { lane: 'other' }), part('c')]);
      expect(await keys(journal)).toEqual(['a', 'b', 'c']);
      expect(await keys(journal, 'other')).toEqual(['x']);
      expect((await journal.pending(LANE, 1))[0]).toMatchObject({ ...part('a'), state: 'PENDING', attempts: 0 });
    });

    it.each([
      { kind: 'sent', platformId: 'p1' },
      { kind: 'unknown', reason: 'cut' },
      { kind: 'dead', reason: 'refused' },
      { kind: 'expired' },
    ] as const)('are not sent again under the same key once they are $kind', async (settlement) => {
      await using harness = await create();
      const { journal } = harness;
      await journal.enqueue([part('a')]);
      await journal.settle(await sendFirst(journal), settlement);
      await journal.enqueue([part('a')]);
      expect(await keys(journal)).toEqual([]);
    });

    it('a failed send puts them back in their place, ahead of what came later', async () => {
      await using harness = await create();
      const { journal } = harness;
      await journal.enqueue([part('a')]);
      const seq = await sendFirst(journal);
      await journal.enqueue([part('b')]);
      await journal.settle(seq, { kind: 'retry', notBefore: 0, reason: '429' });
      expect(await keys(journal)).toEqual(['a', 'b']);
    });

    it('are found by their key in every state, with what the platform called them, also by another process', async () => {
      await using harness = await create();
      const { journal } = harness;
      expect(await journal.part('a')).toBeUndefined();
      await journal.enqueue([part('a')]);
      expect(await journal.part('a')).toMatchObject({ ...part('a'), state: 'PENDING', attempts: 0 });
      const seq = await sendFirst(journal);
      expect(await journal.part('a')).toMatchObject({ seq, state: 'SENDING', attempts: 1 });
      await journal.settle(seq, { kind: 'sent', platformId: 'p1' });
      expect(await (await harness.restart()).part('a')).toMatchObject({ state: 'SENT', platformId: 'p1' });
    });

    it('what was written for a reader on the wish of others is counted by its first parts, whatever became of them', async () => {
      await using harness = await create();
      const { journal } = harness;
      const to = (id: string, ordinal: number, ...readers: readonly string[]) => {
        const key = partKey(sentForId(id), ordinal);
        const { part: plain, ...row } = part(key);
        return { ...row, part: { ...plain, ordinal, count: 2, sentFor: { readers, title: 'x' } } };
      };
      const before = Date.UTC(2025, 0, 1);
      expect(await journal.sentFor('test:ben', before)).toBe(0);
      await journal.enqueue([to('1', 0, 'test:ben'), to('1', 1, 'test:ben'), to('2', 0, 'test:ann', 'test:ben'), part('other')]);
      await journal.enqueue([to('1', 0, 'test:ben')]);
      await journal.settle(await sendFirst(journal), { kind: 'dead', reason: 'gone' });
      const next = await harness.restart();
      expect([await next.sentFor('test:ben', before), await next.sentFor('test:ann', before)]).toEqual([2, 1]);
      expect([await next.sentFor('test:be', before), await next.sentFor('test:ben', Date.UTC(2027, 0, 1))]).toEqual([0, 0]);
    });

    it('what was written on the wish of others is found by its chat once it may have arrived', async () => {
      await using harness = await create();
      const { journal } = harness;
      const key = partKey(sentForId('1'), 0);
      const row = part(key);
      const relayed = { ...row, part: { ...row.part, sentFor: { readers: ['test:ben'], title: 'x' } } };
      await journal.enqueue([relayed, part('own')]);
      expect(await journal.relayed(chatOfLane(LANE))).toEqual([]);
      await journal.settle(await sendFirst(journal), { kind: 'sent', platformId: 'p' });
      await journal.settle(await sendFirst(journal), { kind: 'sent', platformId: 'q' });
      expect(await journal.relayed(chatOfLane(LANE))).toMatchObject([{ platformId: 'p', part: { key } }]);
      expect(await journal.relayed('test/bot/another')).toEqual([]);
    });

    it('an edit that cannot be had becomes a new part in its place: without the edit, its attempts from 0', async () => {
      await using harness = await create();
      const { journal } = harness;
      const edit = part('a');
      await journal.enqueue([{ ...edit, part: { ...edit.part, edits: 'old', supersedes: 'old' } }, part('b')]);
      expect((await journal.part('a'))?.part).toMatchObject({ edits: 'old', supersedes: 'old' });
      const asNew = { kind: 'retry', notBefore: 0, reason: 'gone', plain: true, asNew: true } as const;
      await journal.settle(await sendFirst(journal), asNew);
      const row = await journal.part('a');
      expect(row).toMatchObject({ state: 'PENDING', attempts: 0, plain: true, part: { supersedes: 'old' } });
      expect(row?.part).not.toHaveProperty('edits');
      expect(await keys(journal)).toEqual(['a', 'b']);
      // Before it was ever tried, too; and not once it is settled.
      await journal.settle(row?.seq ?? 0, asNew);
      await journal.settle(await sendFirst(journal), { kind: 'unknown', reason: 'cut' });
      await journal.settle(row?.seq ?? 0, asNew);
      expect(await journal.part('a')).toMatchObject({ state: 'UNKNOWN', attempts: 1 });
    });

    it('a part that took the place of another is named there', async () => {
      await using harness = await create();
      const { journal } = harness;
      await journal.enqueue([part('a'), part('b')]);
      await journal.settle(await sendFirst(journal), { kind: 'sent', platformId: 'p1' });
      expect(await journal.part('a')).not.toHaveProperty('replacedBy');
      await journal.settle(await sendFirst(journal), { kind: 'sent', platformId: 'p1', replaces: 'a' });
      // A key that was forgotten is no obstacle, and a settlement that comes too late changes nothing.
      await journal.enqueue([part('c')]);
      const seq = await sendFirst(journal);
      await journal.settle(seq, { kind: 'sent', platformId: 'p2', replaces: 'gone' });
      await journal.settle(seq, { kind: 'sent', platformId: 'p2', replaces: 'a' });
      expect(await (await harness.restart()).part('a')).toMatchObject({ state: 'SENT', platformId: 'p1', replacedBy: 'b' });
    });

    it('a part that is to take the place of another is named there from the start, whatever becomes of it', async () => {
      await using harness = await create();
      const { journal } = harness;
      const instead = (key: string, supersedes: string) => ({ ...part(key), part: { ...part(key).part, supersedes } });
      await journal.enqueue([part('a'), instead('b', 'a'), instead('c', 'gone')]);
      expect(await journal.part('a')).toMatchObject({ state: 'PENDING', replacedBy: 'b' });
      expect(await journal.part('b')).not.toHaveProperty('replacedBy');
      // What is sent is the part as it was given.
      expect((await journal.pending(LANE, 1))[0]?.part).toEqual(part('a').part);
      expect((await journal.part('a'))?.part).toEqual(part('a').part);
      await journal.settle(await sendFirst(journal), { kind: 'sent', platformId: 'p1' });
      await journal.settle(await sendFirst(journal), { kind: 'dead', reason: 'refused' });
      expect(await journal.part('a')).toMatchObject({ state: 'SENT', replacedBy: 'b' });
      await journal.enqueue([instead('d', 'a')]);
      // A key that is there already changes nothing.
      await journal.enqueue([instead('b', 'a')]);
      expect(await (await harness.restart()).part('a')).toMatchObject({ state: 'SENT', platformId: 'p1', replacedBy: 'd' });
    });

    it('F7 a kill after the commit loses none: the next start finds them, and what was being sent is told apart', async () => {
      await using harness = await create();
      await harness.journal.enqueue([part('a'), part('b')]);
      await sendFirst(harness.journal);
      const next = await harness.restart();
      const { sending, outboxLanes } = await next.recover({ maxAttempts: 3, maxAgeMs: 86_400_000 }, () => []);
      expect([sending.map((row) => row.part.key), outboxLanes]).toEqual([['a'], [expect.objectContaining({ lane: LANE })]]);
      await next.enqueue([part('a'), part('b')]);
      expect(await keys(next)).toEqual(['b']);
    });
  });
}
