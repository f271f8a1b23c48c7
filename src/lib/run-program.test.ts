/**
 * Killing, groups and left-behind processes are tested through
 * src/llm/transcription/command-transcriber.test.ts.
 */
import { expect, test } from 'vitest';
import { importOf, withoutDescriptors } from '../testing/without-descriptors.ts';
import { systemClock } from './clock.ts';
import { type Program, runProgram } from './run-program.ts';

const signal = new AbortController().signal;

function run(script: string, more: Partial<Program> = {}): Promise<string> {
  const limits = { cwd: '/', timeoutMs: 10_000, maxOutputBytes: 100, errorCode: 'GH2114', clock: systemClock } as const;
  return runProgram({ argv: ['/bin/sh', '-c', script], env: { SAID: 'hello' }, ...limits, ...more }, signal);
}

test('what a program prints is returned, and its environment is the given one', async () => {
  expect(await run('echo "$SAID $HOME"')).toBe('hello \n');
});

test.each<[string, string, Partial<Program>, string]>([
  ['fails', 'echo one >&2; echo two >&2; exit 3', {}, '/bin/sh ended with status 3: two'],
  ['prints too much', 'echo 12345', { maxOutputBytes: 4 }, '/bin/sh printed more than 4 bytes'],
  ['does not end', 'sleep 60', { timeoutMs: 50 }, '/bin/sh did not end within 50 ms'],
  ['is missing', '', { argv: ['no-such-program'] }, 'no-such-program is not installed'],
  ['cannot be run', '', { argv: ['/etc/passwd'] }, '/etc/passwd cannot be started'],
])('a program that %s rejects with the given code', async (_name, script, more, message) => {
  await expect(run(script, { ...more, errorCode: 'GH2201' })).rejects.toMatchObject({ code: 'GH2201', message });
});

test.runIf(process.platform === 'linux')(
  'a program for which no descriptor is left rejects with the given code, and ends nothing else',
  () => {
    const imports = [
      importOf('runProgram', './run-program.ts', import.meta.url),
      importOf('systemClock', './clock.ts', import.meta.url),
    ];
    const script = `
    const limits = { env: {}, cwd: '/', timeoutMs: 5_000, maxOutputBytes: 100, errorCode: 'GH2114', clock: systemClock };
    const error = await runProgram({ argv: ['/bin/true'], ...limits }, new AbortController().signal).catch((reason) => reason);
    free();
    console.log(error.code, error.cause?.code);`;
    expect(withoutDescriptors(imports.join('\n'), script)).toBe('GH2114 EMFILE');
  },
);
