import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

/** Swaps a directory for a link to `outside` and back, `rounds` times, as fast as the system can. */
export function racingRenamer(
  workspace: string,
  outside: string,
  rounds: number,
): { done: Promise<void>; stop: () => Promise<number> } {
  const code = `
    const fs = require('node:fs');
    const { workerData: d } = require('node:worker_threads');
    const again = (step, mend) => { for (;;) try { return step(); } catch { mend(); } };
    const clear = () => again(() => fs.rmSync(d.sub, { recursive: true, force: true }), () => {});
    // write_file may make the directory anew while it is away: then it is cleared and the step tried again.
    const force = (step) => again(step, clear);
    for (let n = 0; n < d.rounds; n += 1) {
      fs.renameSync(d.sub, d.aside);
      force(() => fs.symlinkSync(d.outside, d.sub));
      clear();
      force(() => fs.renameSync(d.aside, d.sub));
    }`;
  const data = { sub: join(workspace, 'sub'), aside: join(workspace, 'aside'), outside, rounds };
  const worker = new Worker(code, { eval: true, workerData: data });
  const done = new Promise<void>((resolve, reject) => {
    worker.once('exit', () => resolve());
    worker.once('error', reject);
  });
  return { done, stop: () => worker.terminate() };
}
