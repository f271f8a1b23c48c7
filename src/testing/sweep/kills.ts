/** Where the runs of a sweep are killed. */
import { seeded } from '../load/traffic.ts';
import type { RunSpec } from './run.ts';

/**
 * Every Nth point, each in the middle of its share: the first of them are of a start to which nothing
 * came yet. The second kill lies where the seed puts it, in a recovery about as long as the first start.
 */
export function killsAt(
  points: number,
  every: number,
  double: boolean,
  from = Math.min(points, Math.ceil(every / 2)),
): RunSpec['kills'][] {
  const random = seeded(points);
  const list: RunSpec['kills'][] = [];
  for (let point = from; point <= points; point += every) {
    const second = 1 + Math.floor(random() * points);
    list.push(double ? [{ point }, { point: second }] : [{ point }]);
  }
  return list;
}

/** Runs every job, each on the next bench that is free. */
export async function spread<Bench, T>(
  benches: readonly Bench[],
  jobs: readonly T[],
  work: (bench: Bench, job: T) => Promise<void>,
): Promise<void> {
  const queue = [...jobs];
  await Promise.all(
    benches.map(async (bench) => {
      for (let job = queue.shift(); job !== undefined; job = queue.shift()) await work(bench, job);
    }),
  );
}
