// Parents of sub-agents on a real journal that dies at each commit; PARENTS says how many, from SEED on;
// `npm run sweep:subagents` asks for all.
import { expect, test } from 'vitest';
import { tempDir } from '../fakes.ts';
import { seeded } from '../load/traffic.ts';
import { planOf, playPlan } from './parents.ts';

const { PARENTS, SEED = '1' } = process.env;
/** Those of the sample: see the first test. */
const SAMPLE = [4, 12, 24, 27, 29];
const SEEDS = PARENTS === undefined ? SAMPLE : Array.from({ length: Number(PARENTS) }, (_, n) => Number(SEED) + n);

test('the sample has a parent that is cancelled, ones with a result in the background, one whose children all fail, and one of five', () => {
  const plans = SAMPLE.map((seed) => planOf(seeded(seed)));
  const kinds = {
    cancelled: plans.some(({ cancelled, children }) => cancelled && children.includes('step')),
    cancelledBackground: plans.some(({ cancelled, hasBackground }) => cancelled && hasBackground),
    background: plans.some(({ cancelled, hasBackground, inRounds }) => hasBackground && !cancelled && inRounds),
    failing: plans.some(({ cancelled, children }) => !cancelled && children.every((kind) => kind === 'fail')),
    five: plans.some(({ children }) => children.length === 5 && new Set(children).size === 3),
  };
  expect(Object.entries(kinds).filter(([, isThere]) => !isThere)).toEqual([]);
});

test('killed at any commit, each parent goes on once, has its results in order and pays for no recorded call again', async () => {
  const faults: string[] = [];
  let [runs, deaths] = [0, 0];
  const began = performance.now();
  for (const [n, seed] of SEEDS.entries()) {
    // A file of its own for some: a journal of a thousand parents would slow all of them.
    await using dir = await tempDir();
    const random = seeded(seed);
    const tally = await playPlan(dir.path, `p${seed}`, planOf(random), random);
    runs += tally.runs;
    deaths += tally.deaths;
    faults.push(...tally.faults);
    for (const fault of tally.faults) process.stderr.write(`${fault}\n`);
    if (n % 20 === 19) process.stderr.write(`${n + 1} parents, ${runs} runs, ${deaths} deaths, ${faults.length} faults\n`);
  }
  const tookMs = Math.round(performance.now() - began);
  process.stderr.write(`${SEEDS.length} parents, ${runs} runs, ${deaths} deaths, ${tookMs} ms\n`);
  expect(faults).toEqual([]);
  expect(deaths).toBeGreaterThan(SEEDS.length * 5);
}, 86_400_000);
