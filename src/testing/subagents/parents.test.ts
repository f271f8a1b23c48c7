// Parents of sub-agents on a real journal that dies at each commit; PARENTS says how many, `npm run
// sweep:subagents` asks for all.
import { expect, test } from 'vitest';
import { tempDir } from '../fakes.ts';
import { seeded } from '../load/traffic.ts';
import { planOf, playPlan } from './parents.ts';

const PARENTS = Number(process.env['PARENTS'] ?? 4);
const SEED = Number(process.env['SEED'] ?? 1);

test('killed at any commit, each parent goes on once, has its results in order and pays for no recorded call again', async () => {
  const faults: string[] = [];
  let [runs, deaths] = [0, 0];
  const began = performance.now();
  for (let n = 0; n < PARENTS; n += 1) {
    // A file of its own for some: a journal of a thousand parents would slow all of them.
    await using dir = await tempDir();
    const random = seeded(SEED + n);
    const tally = await playPlan(dir.path, `p${SEED + n}`, planOf(random), random);
    runs += tally.runs;
    deaths += tally.deaths;
    faults.push(...tally.faults);
    for (const fault of tally.faults) process.stderr.write(`${fault}\n`);
    if (n % 20 === 19) process.stderr.write(`${n + 1} parents, ${runs} runs, ${deaths} deaths, ${faults.length} faults\n`);
  }
  process.stderr.write(`${PARENTS} parents, ${runs} runs, ${deaths} deaths, ${Math.round(performance.now() - began)} ms\n`);
  expect(faults).toEqual([]);
  expect(deaths).toBeGreaterThan(PARENTS * 5);
}, 86_400_000);
