import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../lib/clock.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { importOf, withoutDescriptors } from '../testing/without-descriptors.ts';
import { descendantsOf, markedWith, PROCESS_MARK, startOf } from './kernel-process.ts';
import { type Command, type GroupOptions, runGroup } from './process-group.ts';

const NEVER = new AbortController().signal;
const PATH = process.env['PATH'] ?? '';

function shell(script: string, command: Partial<Command> = {}): Command {
  return { argv: ['/bin/sh', '-c', script], cwd: '/', env: { PATH }, isGuardian: false, ...command };
}

function options(more: Partial<GroupOptions> = {}): GroupOptions {
  return { timeoutMs: 20_000, outputBytes: 10_000, onStart: async () => undefined, clock: systemClock, ...more };
}

it('returns the status and both streams, and hands standard input on', async () => {
  const stdin = Buffer.from('given');
  expect(await runGroup(shell('cat; echo bad >&2; exit 3'), options({ stdin }), NEVER)).toEqual({
    ...{ code: 3, timedOut: false, out: 'given', err: 'bad\n', cut: 0 },
  });
});

it('A27 a child has the environment that it is given, and nothing else', async () => {
  const { out } = await runGroup(shell('env', { env: { PATH, ONE: '1' } }), options(), NEVER);
  const names = out
    .trim()
    .split('\n')
    .map((line) => line.split('=')[0]);
  // The shell of this test adds its own.
  expect(names.filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name ?? '')).sort()).toEqual(['ONE', 'PATH']);
});

it('a program does nothing before it is recorded, and never when that fails', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'done');
  const recorded = Promise.withResolvers<void>();
  const failed = runGroup(shell(`echo x >${file}`), options({ onStart: () => recorded.promise }), NEVER);
  await systemClock.sleep(100);
  recorded.reject(new Error('the disk is full'));
  await expect(failed).rejects.toThrow('the disk is full');
  await expect(readFile(file)).rejects.toThrow('ENOENT');
});

it.runIf(process.platform === 'linux')('a program for which no descriptor is left is refused, and ends nothing else', () => {
  const imports = [
    importOf('runGroup', './process-group.ts', import.meta.url),
    importOf('systemClock', '../lib/clock.ts', import.meta.url),
  ];
  const script = `
    const command = { argv: ['/bin/true'], cwd: '/', env: {}, isGuardian: false };
    const options = { timeoutMs: 5_000, outputBytes: 1_000, onStart: async () => undefined, clock: systemClock };
    const error = await runGroup(command, options, new AbortController().signal).catch((reason) => reason);
    free();
    console.log(error.code, error.cause?.code);`;
  expect(withoutDescriptors(imports.join('\n'), script)).toBe('GH2010 EMFILE');
});

it('tells the process by what no later process of its id can share', async () => {
  const seen: (string | undefined)[] = [];
  const onStart: GroupOptions['onStart'] = async ({ pid, started }) => {
    seen.push(started, await startOf(pid), await startOf(process.pid));
  };
  await runGroup(shell('true'), options({ onStart }), NEVER);
  expect(seen[0]).toBe(seen[1]);
  expect(seen[0]).not.toBe(seen[2]);
});

it('F30 a program whose time is over is asked to end, and killed with its children when it does not', async () => {
  const script = `trap 'echo asked' TERM; (trap '' TERM; echo $$ >&2; exec sleep 60) & while :; do sleep 60 & wait $!; done`;
  const { code, timedOut, out } = await runGroup(shell(script), options({ timeoutMs: 300 }), NEVER);
  expect({ code, timedOut }).toEqual({ code: null, timedOut: true });
  expect(out).toContain('asked');
});

it('an abort ends the program with what left its process group', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'pid');
  const stop = new AbortController();
  const running = runGroup(shell(`setsid sh -c 'echo $$ >${file}; exec sleep 60' & wait`), options(), stop.signal);
  const read = () => readFile(file, 'utf8').catch(() => '');
  await until('its id', async () => (await read()).endsWith('\n'));
  stop.abort(new Error('stopped'));
  await expect(running).rejects.toThrow('stopped');
  expect(await startOf(Number(await read()))).toBeUndefined();
});

it('what a program leaves running in its group ends with it', async () => {
  const { out } = await runGroup(shell('sleep 60 & echo $!'), options(), NEVER);
  await until('its end', async () => (await startOf(Number(out))) === undefined);
});

it.runIf(process.platform === 'linux')(
  'what left the group ends with the program, and its pipes change nothing of the answer',
  async () => {
    const mark = randomUUID();
    const script = 'setsid sleep 60 & sleep 0.3; echo no; exit 1';
    const exit = await runGroup(shell(script, { env: { PATH, [PROCESS_MARK]: mark } }), options({ timeoutMs: 10_000 }), NEVER);
    expect(exit).toMatchObject({ code: 1, timedOut: false, out: 'no\n' });
    expect(markedWith(mark)).toEqual([]);
  },
);

it.runIf(process.platform === 'linux')('a program that ended in time is not too slow, whatever holds its pipes', async () => {
  const exit = await runGroup(shell('env -i setsid sleep 4 & sleep 0.3; echo no; exit 1'), options({ timeoutMs: 1_000 }), NEVER);
  expect(exit).toMatchObject({ code: 1, timedOut: false, out: 'no\n' });
});

it('F31 of 100 MB of output the front and the end are kept, the rest is counted, and memory stays bounded', async () => {
  const before = process.memoryUsage().rss;
  const { out, cut } = await runGroup(shell('echo first; yes | head -c 100000000; echo last'), options(), NEVER);
  expect(out.length).toBeLessThan(10_100);
  expect(out.startsWith('first\n')).toBe(true);
  expect(out.endsWith('last\n')).toBe(true);
  expect(cut).toBe(100_000_011 - 10_000);
  expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
});

it('tells lines as they come, a long one in pieces', async () => {
  const lines: string[] = [];
  const onLine: GroupOptions['onLine'] = (stream, line) => lines.push(`${stream} ${line.length}`);
  await runGroup(shell(`echo one; echo two >&2; head -c 70000 /dev/zero | tr '\\0' x`), options({ onLine }), NEVER);
  expect(lines.sort()).toEqual(['err 3', 'out 3', 'out 4464', 'out 65536']);
});

it('a program that cannot be started is a failure with its reason', async () => {
  await expect(runGroup(shell('true', { cwd: '/nowhere' }), options(), NEVER)).rejects.toMatchObject({ code: 'GH2010' });
  const missing = await runGroup({ ...shell(''), argv: ['no-such-program'] }, options(), NEVER);
  expect(missing.code).toBe(127);
});

it('what it is given at descriptor 4 can be read there', async () => {
  const { out } = await runGroup(shell('cat <&4', { fourth: Buffer.from('four') }), options(), NEVER);
  expect(out).toBe('four');
});

it('knows who descends from a process', async () => {
  let below: readonly number[] = [];
  const onLine = async (): Promise<void> => {
    below = await descendantsOf(process.pid);
  };
  const { out } = await runGroup(shell('sh -c "echo \\$\\$; sleep 1"'), options({ onLine: () => void onLine() }), NEVER);
  expect(below).toContain(Number(out));
});
