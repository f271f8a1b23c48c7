// npm run soak:parked: what ten thousand parked runs hold, how soon one goes on, and how soon others are
// answered beside them. Exit code 1 when a limit is missed.
import { measureParked } from './measure.ts';

/** Than chats of a daemon in which nothing waits. */
const SLOWER = 1.2;

const figures = await measureParked(Number(process.argv[2] ?? 10_000));
const { held, timers, bytesEach, resumeP50, quietP95, othersP95, askedP95 } = figures;
const missed = [
  held > 0 && 'they hold turns or lanes',
  timers > 1 && 'they hold timers',
  bytesEach > 2_048 && 'more than 2 kB each',
  resumeP50 > 10 && 'more than 10 ms from the last settlement to the model request',
  othersP95 > SLOWER * quietP95 && 'others are answered more slowly',
  askedP95 > SLOWER * quietP95 && 'chats that wait for the owner are answered more slowly',
].filter((text) => text !== false);
process.stdout.write(`${JSON.stringify(figures, null, 2)}\n${missed.length === 0 ? 'passed' : missed.join('; ')}\n`);
process.exitCode = missed.length === 0 ? 0 : 1;
