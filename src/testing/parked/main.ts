// npm run soak:parked: what ten thousand parked runs hold, and how soon one goes on. Exit code 1 when a limit
// is missed.
import { measureParked } from './measure.ts';

const figures = await measureParked(Number(process.argv[2] ?? 10_000));
const { held, timers, bytesEach, resumeP50, quietMs, besideMs } = figures;
const missed = [
  held > 0 && 'they hold turns or lanes',
  timers > 1 && 'they hold timers',
  bytesEach > 2_048 && 'more than 2 kB each',
  resumeP50 > 10 && 'more than 10 ms from the last settlement to the model request',
  besideMs > 1.5 * quietMs + 50 && 'others are answered more slowly',
].filter((text) => text !== false);
process.stdout.write(`${JSON.stringify(figures, null, 2)}\n${missed.length === 0 ? 'passed' : missed.join('; ')}\n`);
process.exitCode = missed.length === 0 ? 0 : 1;
