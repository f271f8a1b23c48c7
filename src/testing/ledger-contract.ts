/** The ledger's part of the journal's contract: see `journalContract`. */
import { expect, it } from 'vitest';
import type { Journal } from '../core/journal.ts';
import type { SpendingGroup, SpendingGroupKey, UsageEntry } from '../core/ledger.ts';
import type { StepRecord } from '../core/step.ts';
import type { JournalHarness } from './journal-harness.ts';
import { begin, done, usage } from './journal-rows.ts';
import { MemoryLedger } from './paid-model.ts';

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
    const tokens = { tokensCacheWrite: 3, tokensReasoning: 2 };
    const entry: UsageEntry = { ...usage('e1', 5), ...tokens, costUsd: null, purpose: 'embedding', job: 'cron-1' };
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
      tokensCacheWrite: 0,
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

  it('sums of any period by any key are those of its rows, also when rows came twice, or late', async () => {
    await using harness = await create();
    const journal = await harness.open();
    const start = new Date(2026, 2, 27, 13, 7).getTime();
    const value = (n: number, count: number): string => `v${(n * 7) % count}`;
    const rows = Array.from({ length: 900 }, (_, n): UsageEntry => {
      const names = {
        provider: value(n, 2),
        model: value(n, 3),
        channel: value(n, 5),
        purpose: value(n, 2),
        sender: value(n, 11),
      };
      const cost = n % 10 === 0 ? null : n / 64;
      return { ...usage(`u${n}`, start + n * 977_777), ...names, session: value(n, 13), costUsd: cost, tokensCacheWrite: n };
    });
    const late = rows.filter((_, n) => n % 20 === 3);
    for (const row of [...rows.filter((row) => !late.includes(row)), ...late, ...rows.slice(0, 9)]) await journal.spend(row);
    const ledger = new MemoryLedger();
    ledger.entries.push(...rows);
    const at = (n: number): number => rows[n]?.at ?? 0;
    const periods = [
      [0],
      [at(3)],
      [at(3), at(3) + 1],
      [at(5), at(6)],
      [at(10), at(150)],
      [at(40) + 1, at(399) + 1],
      [at(500), at(890)],
      [at(880)],
      [at(9), at(9)],
    ];
    const names = ['provider', 'model', 'channel', 'purpose', 'session', 'sender', 'job'] as const;
    for (const [since = 0, until] of periods) {
      for (const by of names) {
        const query = { since, ...(until === undefined ? {} : { until }), by };
        const expected = (await ledger.spending(query)).toSorted((a, b) => (a.key < b.key ? -1 : 1));
        expect(await journal.spending(query), JSON.stringify(query)).toEqual(expected);
      }
      const days = await journal.spending({ since, ...(until === undefined ? {} : { until }), by: 'day' });
      const inPeriod = rows.filter((row) => row.at >= since && row.at < (until ?? Number.POSITIVE_INFINITY));
      const byDay = Map.groupBy(inPeriod, (row) => new Date(row.at).toLocaleDateString('sv-SE'));
      expect(days.map(({ key, calls }) => [key, calls])).toEqual([...byDay].map(([key, { length }]) => [key, length]));
    }
  });

  it('counts too large to add up as whole numbers spoil no sum', async () => {
    await using harness = await create();
    const journal = await harness.open();
    for (const n of [1, 2, 3]) await journal.spend({ ...usage(`u${n}`, n), tokensIn: Number.MAX_SAFE_INTEGER });
    const [sums] = await journal.spending({ since: 0, by: 'provider' });
    expect(sums).toMatchObject({ calls: 3, tokensIn: 3 * Number.MAX_SAFE_INTEGER, tokensOut: 15 });
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
