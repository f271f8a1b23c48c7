import { expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { LineProcess } from './stdio-process.ts';

/** Why a program that runs this script was gone. */
async function endOf(script: string): Promise<string> {
  const ended = Promise.withResolvers<Error>();
  const program = {
    argv: ['sh', '-c', script] as const,
    env: { PATH: process.env['PATH'] ?? '' },
    cwd: '/',
    maxLineBytes: 10_000,
  };
  new LineProcess({
    ...{ ...program, clock: systemClock, onEnd: ended.resolve },
    ...{ onLine: () => undefined, onError: () => undefined },
  });
  return (await ended.promise).message;
}

test.each([
  ['exit 3', 'sh ended with status 3'],
  ['echo reading >&2; echo "no database" >&2; exit 3', 'sh ended with status 3; the last that it said is: no database'],
  [
    "printf 'no \\033[2Jdata\\342\\200\\256base' >&2; exit 3",
    /^sh ended with status 3; the last that it said is: no ?(?:\[2J)?database$/,
  ],
  ['head -c 5000 /dev/zero | tr "\\0" x >&2; exit 3', /is: x{200}…$/],
  ['kill -9 $$', 'sh ended with SIGKILL'],
])('of a program that ended it is told how, and what it said last: %s', async (script, told) => {
  expect(await endOf(script)).toEqual(typeof told === 'string' ? told : expect.stringMatching(told));
});
