// npm run soak:jobs: a month of jobs on virtual time, with kills, clocks that are set, and two second
// opinions.
import { parseArgs } from 'node:util';
import { tempDir } from '../fakes.ts';
import { makeJobs, randomFrom } from './jobs.ts';
import { soakJobs } from './soak.ts';
import { compareWithSystemd } from './systemd.ts';
import { missingOf } from './whole.ts';

const HELP = `Jobs of two cities from 2 to 31 October 2026, in which both set their clocks, on virtual time and a real journal file.

  --jobs N    how many (default 1000)
  --kills N   how often the process is killed between two commits (default 50)
  --seed N    other jobs, other kills (default 1)
  --help      this text

Due times are judged by croner, and by systemd-analyze calendar, which has to be installed. Exit code 1 when a due time fired
twice, or did not fire and should have, and when the soak was not whole: without systemd, with fewer kills than asked for, or
with a number of firings that a month of so many jobs does not have.
`;
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const SPAN = { from: Date.UTC(2026, 9, 2), to: Date.UTC(2026, 9, 31) };

const { values: flags } = parseArgs({
  options: {
    jobs: { type: 'string', default: '1000' },
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});

async function main(): Promise<number> {
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const began = performance.now();
  const [jobs, kills, seed] = [Number(flags.jobs), Number(flags.kills), Number(flags.seed)];
  await using dir = await tempDir();
  const soaked = await soakJobs({
    ...{ ...SPAN, dir: dir.path, jobs, kills, random: randomFrom(seed) },
    jumps: [
      { at: 0.11, by: HOUR_MS },
      { at: 0.13, by: -HOUR_MS },
      { at: 0.25, by: -HOUR_MS },
      { at: 0.27, by: HOUR_MS },
      { at: 0.4, by: YEAR_MS },
      { at: 0.4002, by: -YEAR_MS },
      { at: 0.55, by: -YEAR_MS },
      { at: 0.5502, by: YEAR_MS },
      { at: 0.7, by: 36 * HOUR_MS },
      { at: 0.75, by: -36 * HOUR_MS },
      { at: 0.9, by: 45_000 },
    ],
  });
  const systemd = compareWithSystemd(makeJobs(40, SPAN, randomFrom(seed)), SPAN);
  const { wrong: misfired, ...figures } = soaked;
  const wrong = [...missingOf({ ...figures, systemd }, { kills }), ...misfired];
  const seconds = Math.round((performance.now() - began) / 100) / 10;
  process.stdout.write(`${JSON.stringify({ ...figures, seconds, wrong: wrong.length, systemd }, undefined, 2)}\n`);
  for (const line of [...wrong, ...(systemd?.wrong ?? [])].slice(0, 50)) process.stdout.write(`${line}\n`);
  return wrong.length + (systemd?.wrong.length ?? 0) > 0 ? 1 : 0;
}

process.exitCode = await main();
