import { draw, drawAround } from './random.ts';
import type { Day } from './world.ts';

export interface Work {
  readonly index: number;
  /** Ms from the start of the day. */
  readonly at: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
}

/** Requests at random times, few in the small hours and many in the afternoon. */
export function createTraffic(day: Day): readonly Work[] {
  const works: Work[] = [];
  let at = 0;
  for (let index = 0; ; index += 1) {
    const busy = 1 - Math.cos((at / day.lengthMs) * 2 * Math.PI) / 3; // 2/3 .. 4/3
    at += (-Math.log(1 - draw(day.seed, 'gap', index)) * 60_000) / (day.perMinute * busy);
    if (at >= day.lengthMs) return works;
    works.push({
      index,
      at,
      tokensIn: Math.round(drawAround(3_000, 0.7, day.seed, 'in', index)),
      tokensOut: Math.max(1, Math.round(drawAround(250, 0.6, day.seed, 'out', index))),
    });
  }
}
