/**
 * What `npm test` plays of a large corpus: a fixed share that has each kind of case. All of it is played with
 * `GATEHOUSE_TEST_LOAD=full`, by `.ci/run` for the files that it names.
 */
import { type TestContext, test } from 'vitest';
import { isFullLoad } from './full-load.ts';

type Tests = Pick<typeof test, 'for' | 'skip'>;
type IsPlayed<Row> = (row: Row, index: number) => boolean;

/** The value of the full load, or that of the sample. */
export function byLoad<T>(sample: T, full: T): T {
  return isFullLoad() ? full : sample;
}

/** Of a table each `every`th row, from the one at `first` on. */
export function nth(every: number, first = 0): IsPlayed<unknown> {
  return (_row, index) => index % every === first;
}

/**
 * `test.for` over all rows. Those that `isPlayed` leaves out are skipped without the full load, under their
 * titles.
 */
export function testSample<Row>(rows: readonly Row[], isPlayed: IsPlayed<Row>, tests: Tests = test) {
  return (title: string, play: (row: Row, context: TestContext) => Promise<void> | void, timeout = 120_000): void => {
    for (const [index, row] of rows.entries()) {
      const played = isFullLoad() || isPlayed(row, index) ? tests : tests.skip;
      played.for([row])(title, { timeout }, play);
    }
  };
}
