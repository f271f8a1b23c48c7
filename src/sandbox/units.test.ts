// The units that are shipped, replayed: programs cannot run in the daemon's, and run in the worker's.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdir, readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { expect, it, onTestFinished, type TestContext } from 'vitest';
import type { Spawn } from '../core/process.ts';
import { systemClock } from '../lib/clock.ts';
import { MemoryLogger, tempDir, until } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';
import { callsOf, isRoot, type ReplayedUnit, replayContainer, replayUnit, UNIT_UID } from '../testing/replay-unit.ts';
import { socketWorker } from './connect.ts';
import { signalTo } from './kernel-process.ts';
import { PROGRAM_PATH } from './probe.ts';
import { WorkerSpawner } from './spawner.ts';

const ROOT = join(import.meta.dirname, '../..');
const NEVER = new AbortController().signal;

interface Scene {
  /** Where `/var/lib/private/gatehouse` lies. */
  readonly state: string;
  readonly run: string;
  readonly place: (path: string) => string;
  /** As the unit sees them. */
  readonly node: string;
  readonly sources: string;
}

async function scene(context: TestContext): Promise<Scene> {
  needs(context, 'bwrap', '--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true');
  needs(context, 'systemd-analyze', '--version');
  needs(context, 'python3', '-c', 'import ctypes; ctypes.CDLL("libseccomp.so.2")');
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const [state, run] = [join(dir.path, 'lib/private/gatehouse'), join(dir.path, 'run')];
  for (const path of [
    'lib/private/gatehouse/workspaces/ann/a1',
    'lib/private/gatehouse/workspaces/bob/b1',
    'lib/private/gatehouse/plugin-copies/greet',
    'lib/gatehouse',
    'run',
  ])
    await mkdir(join(dir.path, path), { recursive: true, mode: 0o700 });
  await mkdir(join(state, 'users/ann/sessions'), { recursive: true });
  await writeFile(join(state, 'plugin-copies/greet/main'), '#!/bin/sh\necho "$0 $1"; echo x > /program/main || echo kept', {
    mode: 0o500,
  });
  await writeFile(join(state, 'journal.db'), 'canary of the journal');
  await writeFile(join(state, 'users/ann/sessions/default.jsonl'), 'canary of the store');
  await writeFile(join(state, 'workspaces/bob/b1/note'), 'canary of another session');
  if (isRoot) {
    const names = await readdir(dir.path, { recursive: true });
    for (const path of [dir.path, ...names.map((name) => join(dir.path, name))]) await chown(path, UNIT_UID, UNIT_UID);
  }
  const inside = relative(await realpath(ROOT), process.execPath);
  return {
    ...{ state, run, sources: '/mnt/src', node: inside.startsWith('..') ? process.execPath : join('/mnt', inside) },
    place: (path) => path.replace(/^\/var\/lib/, join(dir.path, 'lib')),
  };
}

const unit = (name: string): Promise<string> => readFile(join(ROOT, 'systemd', name), 'utf8');

function start({ argv, fourth }: ReplayedUnit, program: readonly string[]): ChildProcess {
  const [command = '', ...args] = [...argv, ...program];
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'inherit', 'ignore', 'pipe'],
    detached: true,
    env: { PATH: PROGRAM_PATH, GATEHOUSE_TEST_KEY: 'canary of the environment' },
  });
  const pipe = child.stdio[4];
  if (pipe && 'end' in pipe) pipe.end(fourth);
  const closed = once(child, 'close');
  child.stdout?.resume();
  onTestFinished(async () => {
    if (child.pid) signalTo(-child.pid, 'SIGKILL');
    await closed;
  });
  return child;
}

it('A26 in the unit of the daemon no sandbox works, and the reason names the unit of the worker', async (context) => {
  const { state, place, node, sources } = await scene(context);
  const probe = `
    const { probeSandbox } = await import('${sources}/sandbox/probe.ts');
    const { systemClock } = await import('${sources}/lib/clock.ts');
    console.log(JSON.stringify(await probeSandbox('auto', { network: false, readable: [], hidden: [] }, systemClock)));`;
  const daemon = replayUnit(await unit('gatehouse.service'), { place, writable: [state, '/tmp'], program: ROOT });
  const child = start(daemon, [node, '--input-type=module', '-e', probe]);
  let said = '';
  child.stdout?.on('data', (chunk) => {
    said += String(chunk);
  });
  await once(child, 'close');
  expect(JSON.parse(said)).toEqual({
    problem: expect.stringContaining('was tried and does not work'),
    hint: expect.stringContaining('gatehouse-tools.service'),
  });
});

it('in the unit of the worker a program works in its workspace, and nothing else of the state is there', async (context) => {
  const at = await scene(context);
  const text = await unit('gatehouse-tools.service');
  await worksAndHides(at, replayUnit(text, { place: at.place, writable: [at.run], program: ROOT }));
});

it('under the system calls of the container it works and hides the same, and no call reaches the kernel itself', async (context) => {
  const at = await scene(context);
  const profile = await readFile(join(ROOT, 'docker/tools-seccomp.json'), 'utf8');
  await worksAndHides(at, replayContainer(profile, { state: at.state, writable: at.run, program: ROOT }));
  const refused = ['@module', '@raw-io', '@reboot', '@swap', '@clock', '@cpu-emulation', '@debug', '@obsolete', '@keyring'];
  const names = new Set(refused.flatMap(callsOf).concat('bpf', 'userfaultfd', 'open_by_handle_at', 'ptrace'));
  expect([...profile.matchAll(/"(\w+)"/g)].map(([, name = '']) => name).filter((name) => names.has(name))).toEqual([]);
});

async function worksAndHides({ state, run: writable, node, sources }: Scene, replayed: ReplayedUnit): Promise<void> {
  const socket = join(writable, 'socket');
  start(replayed, [node, `${sources}/cli/main.ts`, 'tools', 'worker', '--socket', socket]);
  await until('the socket', () => stat(socket).catch(() => undefined));
  const confinement = () => ({ mode: 'bwrap', network: false, readable: [], hidden: [] }) as const;
  const book = { add: async () => undefined, remove: async () => undefined, left: async () => [] };
  using spawner = new WorkerSpawner({
    ...{ connect: socketWorker(socket), confinement, book, newId: randomUUID, clock: systemClock, logger: new MemoryLogger() },
  });
  const run = (script: string, sandbox: 'tool' | 'trusted', plugin: Partial<Spawn> = {}) =>
    spawner.run(
      {
        ...{ argv: ['/bin/sh', '-c', script], cwd: join(state, 'workspaces/ann/a1'), env: { PATH: PROGRAM_PATH }, sandbox },
        ...{ network: false, owner: 'daemon', limits: { timeoutMs: 20_000, outputBytes: 10_000 } },
        ...plugin,
      },
      NEVER,
    );
  expect(await run('echo made > note; cat note', 'tool')).toMatchObject({ code: 0, out: 'made\n' });
  expect(await readFile(join(state, 'workspaces/ann/a1/note'), 'utf8')).toBe('made\n');
  const look = `find ${state} ${state}/../.. / -xdev -name 'journal.db' -o -name default.jsonl 2>/dev/null; cat ${state}/workspaces/bob/b1/note /proc/*/environ`;
  const seen = await run(look, 'tool');
  expect(seen.out + seen.err).not.toMatch(/canary|gatehouse\/journal\.db|sessions\/default/);
  const rights = await run('grep -hE "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status', 'trusted');
  expect(rights.out.match(/\d+$/gm)).toEqual(['0000000000000000', '0000000000000000', '1', '2']);
  // Even without its sandbox: the unit itself hides them.
  const bare = await run(`ls ${state}; cat ${state}/journal.db ${state}/users/ann/sessions/default.jsonl`, 'trusted');
  expect(bare.out).toBe('plugin-copies\nworkspaces\n');
  const home = join(state, 'plugin-copies/greet');
  expect((await run('', 'tool', { argv: [join(home, 'main'), 'hello'], home })).out).toBe('/program/main hello\nkept\n');
  expect((await run(`echo x > ${home}/more || echo read-only`, 'trusted')).out).toBe('read-only\n');
  expect(bare.err).not.toContain('canary');
}
