import { expect, test } from 'vitest';
import { GatehouseError } from '../core/errors.ts';
import { MemoryLogger, until } from '../testing/fakes.ts';
import { JumpingClock } from '../testing/jobs.ts';
import { Ticker, type TickerSource } from './ticker.ts';

/** Dates in memory; fires each once. */
class Dates implements TickerSource {
  readonly dates: number[];
  readonly fired: number[] = [];
  readonly replanned: number[] = [];
  looks = 0;
  failures = 0;

  constructor(...dates: number[]) {
    this.dates = dates;
  }

  async earliest(): Promise<number | undefined> {
    this.looks += 1;
    return this.dates.toSorted((a, b) => a - b)[0];
  }

  async fire(now: number): Promise<void> {
    if (this.failures > 0) {
      this.failures -= 1;
      throw new GatehouseError('GH1301', 'the disk is full');
    }
    for (const date of this.dates.filter((each) => each <= now)) {
      this.dates.splice(this.dates.indexOf(date), 1);
      this.fired.push(now);
    }
  }

  async replan(now: number): Promise<void> {
    this.replanned.push(now);
  }
}

function setup(...sources: Dates[]) {
  const clock = new JumpingClock(0);
  const logger = new MemoryLogger();
  const ticker = new Ticker({ sources, clock, logger });
  ticker.start();
  return { clock, logger, ticker, [Symbol.asyncDispose]: () => ticker[Symbol.asyncDispose]() };
}

test('one timer wakes for the earliest of all dates, at its time', async () => {
  const [one, two] = [new Dates(5_000, 50_000), new Dates(20_000)];
  await using at = setup(one, two);
  await until('the ticker', () => at.clock.sleeping === 1);
  await at.clock.advance(4_999);
  expect(one.fired).toEqual([]);
  await at.clock.advance(100_000);
  expect([one.fired, two.fired]).toEqual([[5_000, 50_000], [20_000]]);
});

test('without a date there is no timer; a wake finds one that came', async () => {
  const dates = new Dates();
  await using at = setup(dates);
  await until('the ticker', () => dates.looks === 1);
  await at.clock.advance(3_600_000);
  expect([dates.looks, at.clock.sleeping]).toEqual([1, 0]);
  dates.dates.push(3_610_000);
  at.ticker.wake();
  await until('the ticker', () => at.clock.sleeping === 1);
  dates.dates.push(3_605_000);
  at.ticker.wake();
  await until('the ticker', () => dates.looks >= 3 && at.clock.sleeping === 1);
  await at.clock.advance(20_000);
  expect(dates.fired).toEqual([3_605_000, 3_610_000]);
});

test('F22 a clock that is set forward is noticed within a minute', async () => {
  const dates = new Dates(86_400_000);
  await using at = setup(dates);
  await until('the ticker', () => at.clock.sleeping === 1);
  at.clock.jump(90_000_000);
  await at.clock.advance(60_000);
  expect(dates.fired).toHaveLength(1);
});

test('F22 a clock that is set back makes the dates be worked out again, once', async () => {
  const dates = new Dates(86_400_000);
  await using at = setup(dates);
  await until('the ticker', () => at.clock.sleeping === 1);
  expect(dates.replanned).toEqual([0]);
  await at.clock.advance(600_000);
  expect(dates.replanned).toHaveLength(1);
  at.clock.jump(-30_000);
  await at.clock.advance(180_000);
  // Set back by 30 s at some time of the minute before: nothing of it may be passed over.
  expect(dates.replanned).toEqual([0, 570_000]);
});

test('a disk that cannot be written costs no date: it is tried again, less and less often', async () => {
  const dates = new Dates(1_000);
  dates.failures = 4;
  await using at = setup(dates);
  await until('the ticker', () => at.clock.sleeping === 1);
  await at.clock.advance(60_000);
  expect(dates.fired).toEqual([16_000]);
  expect(at.logger.lines.map(({ data }) => [data['code'], data['retryInMs']])).toEqual([
    ['GH1301', 1_000],
    ['GH1301', 2_000],
    ['GH1301', 4_000],
    ['GH1301', 8_000],
  ]);
});

test('one that fails keeps nothing else from its date', async () => {
  const [broken, other] = [new Dates(1_000), new Dates(2_000, 90_000)];
  broken.failures = Number.POSITIVE_INFINITY;
  await using at = setup(broken, other);
  await until('the ticker', () => at.clock.sleeping === 1);
  await at.clock.advance(180_000);
  expect(other.fired).toHaveLength(2);
  expect(other.fired[0]).toBeLessThan(5_000);
  expect(at.logger.lines[0]?.data['code']).toBe('GH1301');
});
