// npm run soak:parked: what ten thousand parked runs hold, how soon one goes on, and how soon others are
// answered beside them. Exit code 1 when a limit is missed.
import { missedOf } from './judge.ts';
import { measureParked } from './measure.ts';

const figures = await measureParked(Number(process.argv[2] ?? 10_000));
const missed = missedOf(figures);
process.stdout.write(`${JSON.stringify(figures, null, 2)}\n${missed.length === 0 ? 'passed' : missed.join('; ')}\n`);
process.exitCode = missed.length === 0 ? 0 : 1;
