import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ModelCallContext } from '../../core/model.ts';
import { FakeClock } from '../../testing/fakes.ts';
import { usage } from '../../testing/journal-rows.ts';
import { MemoryLedger } from '../../testing/paid-model.ts';
import { Budget, type BudgetLimits, type Refused, type Reservation } from './budget.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOON = Date.UTC(2026, 0, 1, 12);
/** Days of UTC, whatever the machine's zone is. */
const startOfDay = (at: number): number => at - (at % DAY);

function context(override: Partial<ModelCallContext> = {}): ModelCallContext {
  return { session: 's1', channel: 'test', sender: 'test:1', purpose: 'turn', ...override };
}

async function open(limits: BudgetLimits, ledger = new MemoryLedger(), clock = new FakeClock(NOON)) {
  return { clock, ledger, budget: await Budget.open(ledger, limits, { clock, startOfDay }) };
}

function taken(outcome: Reservation | Refused): Reservation {
  if (outcome.kind === 'refused') throw new Error(`refused by the limit of ${outcome.limit}`);
  return outcome;
}

function refusal(outcome: Reservation | Refused): Refused {
  if (outcome.kind === 'reserved') throw new Error('it was not refused');
  return outcome;
}

describe('Budget', () => {
  test('a call fits while what is spent, what is held and its worst case stay within the limit', async () => {
    const { budget } = await open({ dailyUsd: 1 });
    const first = taken(budget.reserve(context(), 0.6));
    expect(refusal(budget.reserve(context(), 0.5))).toMatchObject({
      limit: 'day',
      reason: 'limit',
      limitUsd: 1,
      spentUsd: 0,
      reservedUsd: 0.6,
      worstUsd: 0.5,
      held: true,
      retryAfterMs: 12 * HOUR,
    });
    first.settle(0.7);
    expect(refusal(budget.reserve(context(), 0.5))).toMatchObject({ spentUsd: 0.7, reservedUsd: 0, held: false });
    taken(budget.reserve(context(), 0.3));
    expect(budget.leftUsd(context())).toBe(0);
  });

  test('of settle and release the first counts, once', async () => {
    const { budget } = await open({ dailyUsd: 1 });
    const one = taken(budget.reserve(context(), 0.5));
    one.settle(0.2);
    one.settle(0.2);
    one.release();
    const other = taken(budget.reserve(context(), 0.5));
    other.release();
    other.settle(0.5);
    expect(budget.tightest(context())).toMatchObject({ spentUsd: 0.2, reservedUsd: 0 });
  });

  test('each session, sender and job has a limit of its own, and the tightest one is told', async () => {
    const { budget } = await open({ dailyUsd: 10, sessionUsd: 1, senderUsd: 2, jobUsd: 3 });
    taken(budget.reserve(context({ job: 'j' }), 0.9)).settle(0.9);
    expect(refusal(budget.reserve(context(), 0.2))).toMatchObject({ limit: 'session', key: 'session:s1' });
    taken(budget.reserve(context({ session: 's2', job: 'j' }), 1)).settle(1);
    expect(refusal(budget.reserve(context({ session: 's3' }), 0.2))).toMatchObject({ limit: 'sender', key: 'sender:test:1' });
    taken(budget.reserve(context({ session: 's4', sender: 'test:2', job: 'j' }), 1)).settle(1);
    const job = refusal(budget.reserve(context({ session: 's5', sender: 'test:3', job: 'j' }), 0.2));
    expect(job).toMatchObject({ limit: 'job', key: 'job:j' });
    expect(job.retryAfterMs).toBeUndefined();
    taken(budget.reserve(context({ session: 's5', sender: 'test:3' }), 0.2));
  });

  test('a refused call holds nothing of any limit', async () => {
    const { budget } = await open({ dailyUsd: 10, sessionUsd: 0.1 });
    refusal(budget.reserve(context(), 0.2));
    expect(budget.leftUsd(context({ session: 'other' }))).toBe(0.1);
    expect(budget.tightest(context())).toMatchObject({ reservedUsd: 0 });
    taken(budget.reserve(context({ session: 'other' }), 0.1));
  });

  test('an unknown price is refused under any limit, and counts as nothing where it is allowed', async () => {
    const strict = (await open({ sessionUsd: 1 })).budget;
    const refused = refusal(strict.reserve(context(), null));
    expect(refused).toMatchObject({ reason: 'unknown-price', worstUsd: null, held: false });
    expect(refused.retryAfterMs).toBeUndefined();
    for (const odd of [Number.NaN, Number.POSITIVE_INFINITY, -1]) refusal(strict.reserve(context(), odd));
    const lenient = (await open({ sessionUsd: 1, allowUnknownPrice: true })).budget;
    taken(lenient.reserve(context(), null)).settle(null);
    expect(lenient.leftUsd(context())).toBe(1);
    taken((await open({})).budget.reserve(context(), null)).settle(null);
    // A job's limit does not concern calls outside of jobs.
    taken((await open({ jobUsd: 1 })).budget.reserve(context(), null)).release();
  });

  test('a free call fits even when nothing is left, and a limit of 0 lets nothing else through', async () => {
    const { budget } = await open({ dailyUsd: 0 });
    taken(budget.reserve(context(), 0)).settle(0);
    expect(refusal(budget.reserve(context(), 0.000001)).held).toBe(false);
  });

  test('a cost that is no amount of money is charged at the worst case', async () => {
    const { budget } = await open({ dailyUsd: 1 });
    taken(budget.reserve(context(), 0.4)).settle(Number.NaN);
    taken(budget.reserve(context(), 0.4)).settle(-5);
    expect(budget.tightest(context())).toMatchObject({ spentUsd: 0.8, reservedUsd: 0 });
  });

  test('midnight gives the day back, keeps what running calls hold, and charges them to the day they end in', async () => {
    const { budget, clock } = await open({ dailyUsd: 1, jobUsd: 1 });
    taken(budget.reserve(context({ job: 'j' }), 0.5)).settle(0.5);
    const overnight = taken(budget.reserve(context(), 0.5));
    await clock.advance(12 * HOUR);
    expect(budget.tightest(context())).toMatchObject({ spentUsd: 0, reservedUsd: 0.5 });
    overnight.settle(0.4);
    expect(budget.tightest(context())).toMatchObject({ spentUsd: 0.4, reservedUsd: 0 });
    // A job is not free again because the date changed.
    expect(refusal(budget.reserve(context({ job: 'j' }), 0.55)).limit).toBe('job');
    await clock.advance(40 * DAY);
    taken(budget.reserve(context({ job: 'j' }), 0.9)).release();
  });

  test('F22 a clock set back over midnight does not give the money out twice', async () => {
    const ledger = new MemoryLedger();
    let now = startOfDay(NOON) + 60_000;
    const clock = Object.assign(new FakeClock(), { now: () => now });
    const { budget } = await open({ dailyUsd: 1 }, ledger, clock);
    taken(budget.reserve(context(), 1)).settle(1);
    now -= 2 * 60_000;
    refusal(budget.reserve(context(), 0.1));
    now += 3 * 60_000;
    refusal(budget.reserve(context(), 0.1));
    // The clock goes back a year, so it was wrong before. What was spent stays spent until the next midnight.
    now -= 365 * DAY;
    refusal(budget.reserve(context(), 0.1));
    now += DAY;
    taken(budget.reserve(context(), 0.1));
  });

  test('a restart begins with what the ledger says of today, and of jobs from before', async () => {
    const ledger = new MemoryLedger();
    const row = { ...usage('a', NOON), session: 's1', sender: 'test:1', costUsd: 0.5 };
    await ledger.spend(row);
    await ledger.spend({ ...row, id: 'unknown', costUsd: null });
    await ledger.spend({ ...row, id: 'yesterday', at: NOON - DAY, job: 'j', costUsd: 0.25 });
    const { budget } = await open({ dailyUsd: 1, sessionUsd: 2, jobUsd: 1 }, ledger);
    expect(budget.tightest(context())).toMatchObject({ limit: 'day', spentUsd: 0.5 });
    expect(budget.leftUsd(context({ job: 'j' }))).toBe(0.5);
    expect(refusal(budget.reserve(context({ job: 'j' }), 0.76))).toMatchObject({ limit: 'job', spentUsd: 0.25 });
  });

  test('limits may change while calls run; nothing that was spent is forgotten', async () => {
    const { budget } = await open({});
    taken(budget.reserve(context(), 0.5)).settle(0.5);
    const running = taken(budget.reserve(context(), 0.25));
    budget.setLimits({ dailyUsd: 1 });
    expect(budget.tightest(context())).toMatchObject({ spentUsd: 0.5, reservedUsd: 0.25 });
    running.release();
    expect(budget.leftUsd(context())).toBe(0.5);
  });

  test('what waits for a change wakes when a call settles, and ends with the signal', async () => {
    const { budget } = await open({ dailyUsd: 1 });
    const running = taken(budget.reserve(context(), 1));
    const woken = budget.changed(new AbortController().signal);
    running.release();
    await woken;
    const stop = new AbortController();
    const waiting = budget.changed(stop.signal);
    stop.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
  });

  test('a call that may pass the limit does so once, and again only when nothing was billed', async () => {
    const { budget } = await open({ dailyUsd: 0.1 });
    const call = budget.call(context(), { beyond: true });
    taken(budget.reserve(call.context, 0.5)).release();
    taken(budget.reserve(call.context, 0.5)).settle(0.4);
    refusal(budget.reserve(call.context, 0.5));
    refusal(budget.reserve({ ...call.context }, 0.5));
  });

  test('over any history totals are never negative, held money returns to 0, and spent and held stay within every limit', () => {
    const step = fc.oneof(
      fc.record({
        do: fc.constant('reserve' as const),
        session: fc.constantFrom('s1', 's2'),
        sender: fc.constantFrom('a', 'b'),
        job: fc.constantFrom(undefined, 'j'),
        worst: fc.double({ min: 0, max: 0.4, noNaN: true }),
      }),
      fc.record({ do: fc.constant('settle' as const), which: fc.nat(20), part: fc.double({ min: 0, max: 1, noNaN: true }) }),
      fc.record({ do: fc.constant('release' as const), which: fc.nat(20) }),
      fc.record({ do: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 50 }) }),
    );
    return fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const limits = { dailyUsd: 1, sessionUsd: 0.7, senderUsd: 0.8, jobUsd: 0.9 };
        const { budget, clock } = await open(limits);
        const all: { reservation: Reservation; worst: number }[] = [];
        const contexts = ['s1', 's2'].flatMap((session) => ['a', 'b'].map((sender) => context({ session, sender, job: 'j' })));
        for (const one of steps) {
          if (one.do === 'wait') await clock.advance(one.hours * HOUR);
          else if (one.do === 'reserve') {
            const { session, sender, job, worst } = one;
            const outcome = budget.reserve(context({ session, sender, ...(job ? { job } : {}) }), worst);
            if (outcome.kind === 'reserved') all.push({ reservation: outcome, worst });
          } else {
            const held = all[one.which % Math.max(1, all.length)];
            if (one.do === 'settle') held?.reservation.settle(held.worst * one.part);
            else held?.reservation.release();
          }
          for (const at of contexts) {
            const state = budget.tightest(at);
            expect(state?.spentUsd).toBeGreaterThanOrEqual(0);
            expect(state?.reservedUsd).toBeGreaterThanOrEqual(0);
            // Every settlement is within its worst case here, so no limit is passed at all.
            expect((state?.spentUsd ?? 9) + (state?.reservedUsd ?? 9)).toBeLessThanOrEqual((state?.limitUsd ?? 0) + 1e-6);
          }
        }
        for (const { reservation } of all) reservation.release();
        for (const at of contexts) expect(budget.tightest(at)?.reservedUsd).toBe(0);
      }),
      { numRuns: 150 },
    );
  });
});
