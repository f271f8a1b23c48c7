// The client of Docker is played by a script that writes down what it is asked, and runs the program without
// a container.
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../lib/clock.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { type Confinement, confine } from './confine.ts';
import { PROCESS_MARK } from './kernel-process.ts';
import { runGroup } from './process-group.ts';
import { reapProcess } from './reap.ts';

const NEVER = new AbortController().signal;
const JAIL: Confinement = { mode: 'docker', network: false, readable: [], hidden: [], image: 'debian:bookworm' };
const PROGRAM = { argv: ['/bin/sh', '-c', 'echo hi'], sandbox: 'tool', network: false } as const;

/** `asked` holds the arguments of each call, one a line, calls apart by an empty line. */
async function playedClient(dir: string, run: string): Promise<string> {
  await mkdir(join(dir, 'bin'));
  const script = `#!/bin/sh
{ printf '%s\\n' "$@"; echo; } >> ${dir}/asked
env > ${dir}/environment-$1
case $1 in rm) touch ${dir}/removed; exit 0;; esac
${run}`;
  await writeFile(join(dir, 'bin/docker'), script);
  await chmod(join(dir, 'bin/docker'), 0o755);
  return `${join(dir, 'bin')}:/usr/bin:/bin`;
}

function runIn(cwd: string, PATH: string, timeoutMs = 20_000, signal = NEVER) {
  const env = { PATH, HOME: cwd, TOKEN: 'of the plugin', DOCKER_HOST: 'tcp://evil', [PROCESS_MARK]: 'id-1' };
  const command = confine({ ...PROGRAM, cwd, env, memoryBytes: 64 * 1024 ** 2, pids: 16 }, JAIL);
  return runGroup(command, { timeoutMs, outputBytes: 10_000, onStart: async () => undefined, clock: systemClock }, signal);
}

it('a program is asked for in a container without network, rights, and all of the machine but its directory', async () => {
  await using dir = await tempDir();
  const path = await playedClient(dir.path, 'echo hi');
  expect(await runIn(dir.path, path)).toMatchObject({ code: 0, out: 'hi\n' });
  const asked = (await readFile(join(dir.path, 'asked'), 'utf8')).trim();
  const golden = await readFile(join(import.meta.dirname, 'fixtures/docker-run.txt'), 'utf8');
  const user = `${process.getuid?.()}:${process.getgid?.()}`;
  expect(`${asked.replaceAll(dir.path, 'DIR').replace(user, 'USER')}\n`).toBe(golden);
});

it('the client reads no settings that the agent wrote, and no variable tells it of another engine', async () => {
  await using dir = await tempDir();
  await runIn(dir.path, await playedClient(dir.path, 'true'));
  const lines = (await readFile(join(dir.path, 'environment-run'), 'utf8')).split('\n');
  expect(lines).toContain('DOCKER_CONFIG=/nonexistent');
  expect(lines).toContain('HOME=/nonexistent');
  expect(lines).toContain('TOKEN=of the plugin');
  expect(lines.filter((line) => line.startsWith('DOCKER_HOST'))).toEqual([]);
  expect(await readFile(join(dir.path, 'asked'), 'utf8')).not.toContain('of the plugin');
  const { argv } = confine({ ...PROGRAM, cwd: dir.path, env: { [PROCESS_MARK]: 'x' } }, JAIL);
  expect(argv).toContain('HOME=/tmp');
});

it('F30 a container that outlives its client is removed by its name, after a time-out and after a stop', async () => {
  for (const ends of ['time', 'stop'] as const) {
    await using dir = await tempDir();
    const path = await playedClient(dir.path, `trap '' TERM; touch ${dir.path}/began; while :; do sleep 0.05; done`);
    const stop = new AbortController();
    const over = runIn(dir.path, path, ends === 'time' ? 300 : 20_000, stop.signal);
    if (ends === 'stop') {
      await until('it runs', () =>
        readFile(join(dir.path, 'began')).then(
          () => true,
          () => false,
        ),
      );
      stop.abort(new Error('stopped'));
      await expect(over).rejects.toThrow('stopped');
    } else expect(await over).toMatchObject({ code: null, timedOut: true });
    expect((await readFile(join(dir.path, 'asked'), 'utf8')).trim()).toMatch(/\n\nrm\n--force\n--volumes\ngatehouse-id-1$/);
  }
});

it('a program that ends by itself costs no second call of the client', async () => {
  await using dir = await tempDir();
  await runIn(dir.path, await playedClient(dir.path, 'exit 3'));
  expect(await readFile(join(dir.path, 'asked'), 'utf8')).not.toContain('\nrm\n');
});

it('a container that cannot be removed is told, with the command that does it', async () => {
  await using dir = await tempDir();
  const path = await playedClient(dir.path, `trap '' TERM; while :; do sleep 0.05; done`);
  await writeFile(
    join(dir.path, 'bin/docker'),
    (await readFile(join(dir.path, 'bin/docker'), 'utf8')).replace('exit 0', 'echo no >&2; exit 1'),
  );
  await expect(runIn(dir.path, path, 200)).rejects.toMatchObject({ code: 'GH2010', hint: expect.stringContaining('docker rm') });
});

it.each(['a,b', 'a"b', 'a\nb'])('a directory called %j, which could add to a mount, is refused', async (name) => {
  await using dir = await tempDir();
  const cwd = join(dir.path, name);
  await mkdir(cwd);
  const env = { PATH: '/usr/bin', [PROCESS_MARK]: 'x' };
  expect(() => confine({ ...PROGRAM, cwd, env }, JAIL)).toThrow('a container takes no directory');
});

it('F18 the container of a program that an earlier boot left is removed, also where its client is gone', async () => {
  await using dir = await tempDir();
  const path = await playedClient(dir.path, 'true');
  const row = { id: 'id-2', program: 'docker', pgid: 2 ** 22 - 1, started: 'another boot' };
  await reapProcess(row, systemClock, path);
  expect((await readFile(join(dir.path, 'asked'), 'utf8')).trim()).toBe('rm\n--force\n--volumes\ngatehouse-id-2');
});
