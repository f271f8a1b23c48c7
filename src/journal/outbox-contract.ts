/** What every journal does with answers on their way out. */
import { expect, it } from 'vitest';
import { BOUNDS, type CreateJournal as Create, pendingKeys } from '../testing/journal-harness.ts';
import { LANE, part } from '../testing/journal-rows.ts';

export function outboxContract(create: Create): void {
  it('parts of a lane come in order, whether due or not, and each is taken once', async () => {
    await using harness = await create();
    const journal = await harness.open();
    await journal.enqueue([part('a'), part('b'), part('x', { lane: 'other' })]);
    await journal.enqueue([part('a')]); // the same key is the same part
    expect(await pendingKeys(journal)).toEqual(['a', 'b']);
    const [first] = await journal.pending(LANE, 1);
    expect(first).toMatchObject({ ...part('a'), state: 'PENDING', attempts: 0, notBefore: 0, plain: false });
    const seq = first?.seq ?? 0;
    expect(await Promise.all([journal.sending(seq), journal.sending(seq)])).toEqual([true, false]);
    expect(await pendingKeys(journal)).toEqual(['b']);
    const notBefore = harness.clock.now() + 60_000;
    await journal.settle(seq, { kind: 'retry', notBefore, reason: '429', plain: true });
    expect(await pendingKeys(journal)).toEqual(['a', 'b']);
    expect((await journal.pending(LANE, 1))[0]).toMatchObject({ attempts: 1, notBefore, plain: true });
    await journal.settle(seq, { kind: 'retry', notBefore, reason: '429' });
    expect((await journal.pending(LANE, 1))[0]?.plain).toBe(true);
    await journal.sending(seq);
    await journal.settle(seq, { kind: 'retry', notBefore, reason: 'auth', uncounted: true });
    expect((await journal.pending(LANE, 1))[0]?.attempts).toBe(1);
  });

  it('F37 a part is in doubt from the moment it is being sent, as long as retries say so, and over restarts', async () => {
    await using harness = await create();
    const { clock } = harness;
    let journal = await harness.open();
    await journal.enqueue([part('a')]);
    const seq = (await journal.pending(LANE, 1))[0]?.seq ?? 0;
    const doubt = async () => {
      const row = await journal.part('a');
      return [row?.state, row?.doubtSince];
    };
    expect(await doubt()).toEqual(['PENDING', undefined]);
    await journal.sending(seq);
    await journal.settle(seq, { kind: 'retry', notBefore: 0, reason: 'ECONNREFUSED' });
    expect(await doubt()).toEqual(['PENDING', undefined]);
    await clock.advance(60_000);
    const since = clock.now();
    await journal.sending(seq);
    journal = await harness.open();
    expect((await journal.recover(BOUNDS, () => [])).sending).toMatchObject([{ doubtSince: since }]);
    await journal.settle(seq, { kind: 'retry', notBefore: 0, reason: 'killed', doubtSince: since });
    await clock.advance(60_000);
    await journal.sending(seq);
    expect(await doubt()).toEqual(['SENDING', since]);
    await journal.settle(seq, { kind: 'retry', notBefore: 0, reason: '429', doubtSince: since });
    journal = await harness.open();
    expect((await journal.pending(LANE, 1))[0]?.doubtSince).toBe(since);
    await journal.sending(seq);
    await journal.settle(seq, { kind: 'dead', reason: 'gave up' });
    await journal.dead.replay(`out-${seq}`);
    expect(await doubt()).toEqual(['PENDING', undefined]);
  });

  it('F37 a settled part never goes back to be sent; only a part of unknown fate can still turn out to be sent', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const ends = [
      { kind: 'sent', platformId: 'p1' },
      { kind: 'unknown', reason: 'timeout' },
      { kind: 'dead', reason: 'blocked' },
      { kind: 'expired' },
    ] as const;
    await journal.enqueue(ends.map(({ kind }) => part(kind)));
    const rows = await journal.pending(LANE, 10);
    for (const [n, row] of rows.entries()) {
      await journal.sending(row.seq);
      const end = ends[n];
      if (end) await journal.settle(row.seq, end);
    }
    expect((await journal.counts()).outbox).toEqual({ PENDING: 0, SENDING: 0, SENT: 1, UNKNOWN: 1, DEAD: 1, EXPIRED: 1 });
    for (const { seq } of rows) {
      await journal.settle(seq, { kind: 'retry', notBefore: 0, reason: 'late' });
      expect(await journal.sending(seq)).toBe(false);
      await journal.settle(seq, { kind: 'sent', platformId: 'found' });
    }
    expect((await journal.counts()).outbox).toEqual({ PENDING: 0, SENDING: 0, SENT: 2, UNKNOWN: 0, DEAD: 1, EXPIRED: 1 });
  });
}
