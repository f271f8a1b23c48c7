// seed -> jobs as people make them: mostly once a day, in two cities that set their clocks in October
import type { Job } from '../../core/job.ts';
import { OWNER } from '../jobs.ts';
import { draw } from '../sim-routing/random.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export type Random = () => number;

export function randomFrom(seed: number): Random {
  let n = 0;
  return () => {
    n += 1;
    return draw(seed, n);
  };
}

/**
 * Half in each city; some for one time, some by an interval, some in the hours in which the clocks are set.
 */
export function makeJobs(count: number, span: { readonly from: number; readonly to: number }, random: Random): readonly Job[] {
  return Array.from({ length: count }, (_, n) => {
    const whole = (below: number): number => Math.floor(random() * below);
    const kind = n % 20;
    const schedule = ((): Job['schedule'] => {
      if (kind === 0) return { kind: 'at', at: span.from + whole((span.to - span.from) / MINUTE_MS) * MINUTE_MS };
      if (kind <= 2)
        return { kind: 'every', ms: (12 + whole(60)) * 60 * MINUTE_MS + whole(60_000), from: span.from - whole(DAY_MS) };
      if (kind <= 4) return { kind: 'cron', expr: `${whole(60)} ${1 + whole(3)} * * *` };
      if (kind === 5) return { kind: 'cron', expr: `${whole(30)},${30 + whole(30)} ${1 + whole(3)} * * ${whole(2) * 6}` };
      if (kind === 6) return { kind: 'cron', expr: `${whole(60)} ${whole(60)} */8 * * ${1 + whole(5)}` };
      if (kind <= 9) return { kind: 'cron', expr: `${whole(60)} ${whole(24)} * * 1-5` };
      return { kind: 'cron', expr: `${whole(60)} ${whole(24)} * * *` };
    })();
    const id = n.toString(16).padStart(8, '0');
    return {
      ...{ id, name: `job ${n}`, schedule, timezone: n % 2 === 0 ? 'Australia/Sydney' : 'Europe/Berlin' },
      payload: { text: 'x', profile: 'session' },
      ...{ authority: OWNER, taint: 0, missed: n % 3 === 0 ? 'skip' : 'once', enabled: true, deleteAfterRun: n % 40 === 0 },
      ...{ runCount: 0, createdAt: span.from },
    };
  });
}
