/** The ledger's part of the journal's contract: see `journalContract`. */
import { expect, it } from 'vitest';
import type { Journal, SpendingGroup, SpendingGroupKey, StepRecord, UsageEntry } from '../core/journal.ts';
import type { JournalHarness } from './journal-harness.ts';
import { begin, done, usage } from './journal-rows.ts';

const DAY = 86_400_000;

async function keys(journal: Journal, by: SpendingGroupKey): Promise<string[]> {
  return (await journal.spending({ since: 0, by })).map(({ key }) => key);
}

export function ledgerContract(create: () => Promise<JournalHarness>): void {
  it('usage is written with its step, once per id, and read from a time on', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const { seq, generation } = await begin(journal, 1);
    const model: StepRecord = { n: 0, kind: 'model', state: 'DONE', value: 'x' };
    await journal.step(seq, generation, model, usage('u1', 1_000));
    await journal.step(seq, generation, model, usage('u1', 1_000));
    await journal.step(seq, generation, { ...model, n: 1 }, usage('u2', 2_000));
    expect(await journal.usage(0)).toEqual([usage('u1', 1_000), usage('u2', 2_000)]);
    expect((await journal.usage(1_001)).map(({ id }) => id)).toEqual(['u2']);
  });

  it('F6 a call paid for before a kill is in the ledger once, whoever records it again', async () => {
    await using harness = await create();
    const killed = await harness.open();
    const { seq, generation } = await begin(killed, 1);
    await killed.step(seq, generation, { n: 0, kind: 'model', state: 'DONE', value: 'x' }, usage('u1', 1_000));
    const journal = await harness.open();
    await journal.recover({ maxAttempts: 3, maxAgeMs: DAY }, () => []);
    const again = await journal.claim(seq);
    await journal.step(seq, again?.generation ?? 0, { n: 0, kind: 'model', state: 'DONE', value: 'x' }, usage('u1', 9_000));
    await journal.spend(usage('u1', 9_999));
    expect(await journal.usage(0)).toEqual([usage('u1', 1_000)]);
  });

  it('a call outside of a turn is recorded with its job and an unknown price, and comes back as it was', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const entry: UsageEntry = { ...usage('e1', 5), costUsd: null, purpose: 'embedding', job: 'cron-1' };
    await journal.spend(entry);
    expect(await journal.usage(0)).toEqual([entry]);
    expect(await (await harness.open()).usage(0)).toEqual([entry]);
  });

  it('sums by any key: an unknown price is counted apart and is no cost of 0', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const rows: readonly Partial<UsageEntry>[] = [
      { costUsd: 0.1, tokensIn: 100, session: 'a', sender: 'x' },
      { costUsd: 0.2, tokensIn: 10, session: 'a', sender: 'y', job: 'j' },
      { costUsd: null, tokensIn: 1, session: 'b', model: 'new', purpose: 'summary' },
      { costUsd: 0, tokensIn: 1_000, session: 'b', channel: 'mail', provider: 'local' },
    ];
    for (const [n, row] of rows.entries()) await journal.spend({ ...usage(`u${n}`, 1_000 + n), ...row });
    const sums = (key: string, calls: number, tokensIn: number, costUsd: number, unpriced: number): SpendingGroup => ({
      key,
      calls,
      tokensIn,
      tokensOut: calls * 5,
      tokensCached: calls,
      costUsd: expect.closeTo(costUsd, 12),
      unpriced,
    });
    expect(await journal.spending({ since: 0, by: 'session' })).toEqual([sums('a', 2, 110, 0.3, 0), sums('b', 2, 1_001, 0, 1)]);
    expect(await journal.spending({ since: 1_001, until: 1_003, by: 'session' })).toEqual([
      sums('a', 1, 10, 0.2, 0),
      sums('b', 1, 1, 0, 1),
    ]);
    expect(await keys(journal, 'model')).toEqual(['local/m', 'p/m', 'p/new']);
    expect(await keys(journal, 'provider')).toEqual(['local', 'p']);
    expect(await keys(journal, 'channel')).toEqual(['mail', 'test']);
    expect(await keys(journal, 'sender')).toEqual(['user-1', 'x', 'y']);
    expect(await keys(journal, 'purpose')).toEqual(['chat', 'summary']);
    expect(await journal.spending({ since: 0, by: 'job' })).toEqual([sums('j', 1, 10, 0.2, 0)]);
    expect(await journal.spending({ since: 5_000, by: 'day' })).toEqual([]);
  });

  it('a day ends at midnight of the time zone of this process', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const midnight = new Date(2026, 6, 2).getTime();
    for (const [n, at] of [midnight - 1, midnight, midnight + 1].entries()) await journal.spend(usage(`u${n}`, at));
    const days = await journal.spending({ since: 0, by: 'day' });
    expect(days.map(({ key, calls }) => [key, calls])).toEqual([
      ['2026-07-01', 1],
      ['2026-07-02', 2],
    ]);
  });

  it('the ledger outlives the turn, the session and the message it came from', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const row = await begin(journal, 1);
    await journal.step(row.seq, row.generation, { n: 0, kind: 'model', state: 'DONE', value: 'x' }, usage('u1', 1_000));
    await journal.finish(done(row));
    await harness.clock.advance(400 * DAY);
    await harness.prune();
    expect(await journal.steps(row.seq)).toEqual([]);
    expect(await journal.usage(0)).toEqual([usage('u1', 1_000)]);
  });
}
