import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { until } from '../../testing/fakes.ts';
import { importOf, withoutDescriptors } from '../../testing/without-descriptors.ts';
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

test.runIf(process.platform === 'linux')(
  'a program for which no descriptor is left cannot be started, and ends nothing else',
  () => {
    const imports = [
      importOf('LineProcess', './stdio-process.ts', import.meta.url),
      importOf('systemClock', '../../lib/clock.ts', import.meta.url),
    ];
    const script = `
    const onEnd = (error) => { free(); console.log(error.message, error.cause?.code); };
    new LineProcess({ argv: ['cat'], env: { PATH: '/usr/bin:/bin' }, cwd: '/', maxLineBytes: 1000, clock: systemClock,
      onLine: () => undefined, onError: () => undefined, onEnd });`;
    expect(withoutDescriptors(imports.join('\n'), script)).toBe('cat cannot be started EMFILE');
  },
);

/** Processes whose arguments hold this word, this one and shells left out. */
async function running(word: string): Promise<number> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, 'latin1').catch(() => '')));
  return lines.filter((line) => line.startsWith('sleep') && line.includes(word)).length;
}

test.runIf(process.platform === 'linux').each([
  ['is closed', 'cat', 'closed'],
  ['ends by itself', 'exit 0', 'ends'],
  ['is ended for what it sends', 'head -c 20000 /dev/zero; cat', 'sends'],
  ['is closed and has cleared the environment of what it started', 'exec sleep 30', 'cleared'],
])('what has left the group of a program is gone with it, where it %s', async (_how, goesOn, word) => {
  const seconds = `3${process.pid}.${word.length}`;
  const stray = word === 'cleared' ? `env -i setsid sleep ${seconds}` : `setsid sleep ${seconds}`;
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const program = new LineProcess({
    argv: ['sh', '-c', `${stray} & echo begun; read go; ${goesOn}`],
    env: { PATH: process.env['PATH'] ?? '' },
    ...{ cwd: '/', maxLineBytes: 10_000, clock: systemClock },
    ...{ onLine: () => begun.resolve(), onError: () => undefined, onEnd: () => ended.resolve() },
  });
  await begun.promise;
  await until('it runs', async () => (await running(seconds)) === 1);
  program.write('go');
  if (word === 'closed' || word === 'cleared') await program.close();
  await ended.promise;
  await until('nothing is left', async () => (await running(seconds)) === 0);
});
