// npm run sim:routing: a day of traffic through the real chain and router, on a virtual clock.
import { parseArgs } from 'node:util';
import { check, toFigures, toText } from './report.ts';
import { MODES, runDay } from './run-day.ts';
import type { Day } from './world.ts';

const HELP = `A day of traffic with outages, slow hours and price differences over four providers, through the real routing classes.

  --seed N   moves the outages and draws the traffic (default 1)
  --json     figures and checks for programs
  --help     this text

Exit code 1 when a check fails.
`;

const { values: flags } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

async function main(): Promise<number> {
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const seed = Number(flags.seed);
  if (!Number.isSafeInteger(seed)) {
    process.stderr.write('--seed must be a whole number\n');
    return 2;
  }
  const day: Day = { seed, lengthMs: 86_400_000, perMinute: 6 };
  const figures = [];
  for (const mode of MODES) figures.push(toFigures(await runDay(mode, day)));
  const checks = check(figures);
  process.stdout.write(flags.json ? `${JSON.stringify({ seed, figures, checks }, undefined, 2)}\n` : toText(figures, checks));
  return checks.every(({ passed }) => passed) ? 0 : 1;
}

process.exitCode = await main();
