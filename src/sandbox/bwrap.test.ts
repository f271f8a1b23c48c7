// Real programs in the real sandbox: what they reach is asserted, not what they print about it.
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, type TestContext } from 'vitest';
import type { Exit } from '../core/process.ts';
import { systemClock } from '../lib/clock.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';
import { refusedPath } from './bwrap.ts';
import { type Confined, type Confinement, confine } from './confine.ts';
import { descendantsOf, startOf } from './kernel-process.ts';
import { runGroup } from './process-group.ts';

const NEVER = new AbortController().signal;
const JAIL: Confinement = { mode: 'bwrap', network: false, readable: [], hidden: [] };

interface Try {
  readonly cwd: string;
  readonly jail?: Partial<Confinement>;
  readonly program?: Partial<Confined>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly onStart?: (process: { readonly pid: number }) => Promise<void>;
}

async function sandboxed(script: string, { cwd, jail, program, ...options }: Try): Promise<Exit> {
  const env = { PATH: '/usr/bin:/bin' };
  const argv = ['/bin/sh', '-c', script];
  const command = confine({ argv, cwd, env, sandbox: 'tool', network: false, ...program }, { ...JAIL, ...jail });
  const { signal = NEVER, timeoutMs = 20_000, onStart = async () => undefined } = options;
  return await runGroup(command, { timeoutMs, outputBytes: 50_000, onStart, clock: systemClock }, signal);
}

function needsBwrap(context: TestContext): void {
  needs(context, 'bwrap', '--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true');
}

it('a program works in its directory, and what it writes there stays', async (context) => {
  needsBwrap(context);
  await using dir = await tempDir();
  const program = { env: { PATH: '/usr/bin:/bin', HOME: dir.path } };
  const { code, out, err } = await sandboxed('pwd; echo $HOME; echo hello >file && cat file', { cwd: dir.path, program });
  expect({ code, out, err }).toEqual({ code: 0, out: '/workspace\n/workspace\nhello\n', err: '' });
  expect(await readFile(join(dir.path, 'file'), 'utf8')).toBe('hello\n');
});

it('A24 a program that is not given its directory as HOME has an empty one: no file there configures it', async (context) => {
  needsBwrap(context);
  await using dir = await tempDir();
  await writeFile(join(dir.path, '.gitconfig'), '[alias]\n\tx = !echo steered\n');
  const { out } = await sandboxed('echo $HOME; ls -A ~; touch ~/x && echo kept; git x 2>/dev/null; cat .gitconfig', {
    cwd: dir.path,
  });
  expect(out).toBe('/tmp\nkept\n[alias]\n\tx = !echo steered\n');
});

it('A24 A28 it sees nothing of the machine but the system: no home, no state, no config, no processes', async (context) => {
  needsBwrap(context);
  await using dir = await tempDir();
  await mkdir(join(dir.path, 'workspace'));
  await writeFile(join(dir.path, 'secret'), 'CANARY');
  const script = `cat ${dir.path}/secret ../secret /etc/shadow /root/.profile /proc/${process.pid}/environ 2>/dev/null
    ls /home /root /var/lib /etc/ssh ${dir.path} 2>/dev/null; ls / | sort | tr '\\n' ' '; ls -d /proc/[0-9]* | wc -l`;
  const { out } = await sandboxed(script, { cwd: join(dir.path, 'workspace') });
  const [roots, processes] = out.trim().split(/ (?=\d+$)/);
  expect(roots?.split(' ').filter((name) => !/^lib/.test(name))).toEqual([
    ...['bin', 'dev', 'etc', 'proc', 'run', 'sbin', 'tmp', 'usr', 'var', 'workspace'],
  ]);
  expect(Number(processes)).toBeLessThan(10);
});

it('a program with a home is found there, read-only and at another place, also where the config hides or shows what is around it', async (context) => {
  needsBwrap(context);
  // The directory of the other tests may lie in /dev.
  await using dir = await tempDir('/var/tmp');
  const [cwd, home] = [join(dir.path, 'state/workspace'), join(dir.path, 'state/plugins/greet')];
  for (const path of [cwd, home]) await mkdir(path, { recursive: true });
  await writeFile(join(dir.path, 'state/secret'), 'CANARY');
  await writeFile(join(home, 'main'), `#!/bin/sh\necho "$0 $1 $PLACE"; cat ${dir.path}/state/secret; echo x >/program/main`, {
    mode: 0o500,
  });
  const program = { argv: [join(home, 'main'), 'word'], home, env: { PATH: '/usr/bin:/bin', PLACE: cwd } };
  for (const readable of [[], [dir.path]]) {
    const { out, code } = await sandboxed('', { cwd, jail: { hidden: [join(dir.path, 'state')], readable }, program });
    expect({ out, code }).toEqual({ out: '/program/main word /workspace\n', code: 2 });
  }
  await symlink(home, join(dir.path, 'link'));
  await expect(sandboxed('', { cwd, program: { ...program, home: join(dir.path, 'link') } })).rejects.toThrow('is a link');
});

it('what is hidden is so also where it is named by a link', async (context) => {
  needsBwrap(context);
  // The directory of the other tests may lie in /dev.
  await using dir = await tempDir('/var/tmp');
  const [cwd, shown, links] = [join(dir.path, 'workspace'), join(dir.path, 'shown'), join(dir.path, 'links')];
  for (const path of [cwd, join(shown, 'state'), links]) await mkdir(path, { recursive: true });
  await writeFile(join(shown, 'state/journal'), 'CANARY');
  await symlink(join(shown, 'state'), join(links, 'data'));
  for (const readable of [[shown], [links], [shown, links]]) {
    const jail = { readable, hidden: [join(links, 'data')] };
    const { out, code } = await sandboxed(`cat ${shown}/state/journal ${links}/data/journal; ls ${shown} ${links}; true`, {
      cwd,
      jail,
    });
    expect({ readable, out, code }).toMatchObject({ out: expect.not.stringContaining('CANARY'), code: 0 });
    expect(out).toContain(readable.includes(shown) ? 'state' : 'data');
  }
});

it('A22 A24 nothing outside its directory can be changed', async (context) => {
  needsBwrap(context);
  await using dir = await tempDir();
  await mkdir(join(dir.path, 'workspace'));
  await writeFile(join(dir.path, 'host'), 'as it was');
  const tries = [
    '/usr/bin/x',
    '/etc/x',
    '/x',
    '/var/x',
    '/run/x',
    '/proc/sys/kernel/hostname',
    '/workspace/../x',
    `${dir.path}/host`,
  ];
  const script = `${tries.map((path) => `echo x >${path}`).join('; ')}; mount -t tmpfs x /usr; rm -rf /; umount /workspace; true`;
  await sandboxed(script, { cwd: join(dir.path, 'workspace') });
  expect(await readFile(join(dir.path, 'host'), 'utf8')).toBe('as it was');
  expect(tries.filter((path) => existsSync(path) && path.endsWith('/x'))).toEqual([]);
  expect(existsSync('/usr/bin/env')).toBe(true);
});

it('A19 A31 it reaches no listener of this machine, until the network is allowed to this call and by the config', async (context) => {
  needsBwrap(context);
  await using dir = await tempDir();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.end('hello');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { readonly port: number };
  const script = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`;
  const connect = (asks: boolean, allows: boolean) =>
    sandboxed('', {
      ...{ cwd: dir.path, jail: { network: allows } },
      program: { argv: ['/bin/bash', '-c', script], network: asks },
    });
  for (const [asks, allows] of [
    [false, false],
    [true, false],
    [false, true],
  ] as const)
    await connect(asks, allows);
  expect(connections).toBe(0);
  expect((await connect(true, true)).out).toBe('hello');
  server.close();
});

it('it has no rights, makes no namespaces, mounts nothing and changes no root', async (context) => {
  needsBwrap(context);
  await using dir = await tempDir();
  const script = `unshare -U true 2>&1; unshare -m true 2>&1; mount -t proc p /proc 2>&1; /usr/sbin/chroot / true 2>&1; grep -E '^(Seccomp|NoNewPrivs|CapEff|CapBnd):' /proc/self/status`;
  const { out } = await sandboxed(script, { cwd: dir.path });
  expect(out.split('\n').filter((line) => /not permitted|denied|superuser/i.test(line))).toHaveLength(4);
  expect(out.replace(/[\t ]+/g, ' ')).toContain('CapEff: 0000000000000000\nCapBnd: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2');
});

it('A22 A24 it cannot change the kernel by a file of /proc, also where the daemon is root', async (context) => {
  needsBwrap(context);
  await using dir = await tempDir();
  // Asked, not tried: /proc/sys/kernel/core_pattern names a program the kernel starts outside every sandbox.
  const script = `find /proc -path '/proc/[0-9]*' -prune -o -type f -writable -print; cat /proc/sys/kernel/ostype`;
  const { out } = await sandboxed(script, { cwd: dir.path });
  expect(out).toBe('Linux\n');
});

it('what it writes beside its directory is memory, of which it has so much and no more', async (context) => {
  needsBwrap(context);
  await using dir = await tempDir();
  const fill = 'for i in 1 2 3 4 5; do head -c 200000000 /dev/zero >$d/$i || break; done; du -m -s $d; rm -r $d/*';
  const script = `for d in /tmp /dev/shm; do ${fill}; done 2>/dev/null | cut -f1; touch /dev/made || echo refused`;
  const { out } = await sandboxed(script, { cwd: dir.path });
  expect(out).toBe('512\n256\nrefused\n');
});

it('memory beyond its bound is not given, and files end at theirs', async (context) => {
  needsBwrap(context);
  await using dir = await tempDir();
  const script = `perl -e '$x = "x" x 2000000000; print length $x'`;
  const bounded = await sandboxed(script, { cwd: dir.path, program: { memoryBytes: 512 * 1024 ** 2, pids: 32 } });
  expect({ code: bounded.code === 0, out: bounded.out }).toEqual({ code: false, out: '' });
});

it('the kernel ends what it runs before the daemon', async (context) => {
  needsBwrap(context);
  await using dir = await tempDir();
  expect((await sandboxed('cat /proc/self/oom_score_adj', { cwd: dir.path })).out).toBe('1000\n');
});

it('F31 memory is bounded for all that it runs together, in a sandbox and without', async (context) => {
  needsBwrap(context);
  await using dir = await tempDir();
  // Each holds twice that.
  const six = `for i in 1 2 3 4 5 6; do perl -e '$x = "x" x 30000000; sleep 3' & done; wait; echo all`;
  for (const mode of ['bwrap', 'none'] as const) {
    const held = (mib: number) => sandboxed(six, { cwd: dir.path, jail: { mode }, program: { memoryBytes: mib * 1024 ** 2 } });
    const message = expect.stringContaining('more than 200 MiB of memory');
    await expect(held(200)).rejects.toMatchObject({ code: 'GH2014', message });
    expect(await held(600)).toMatchObject({ out: 'all\n' });
  }
});

it('what processes share counts once', async (context) => {
  needsBwrap(context);
  await using dir = await tempDir();
  const script = `perl -e '$x = "x" x 60000000; fork for 1 .. 3; sleep 2; print "one\n"' | sort -u`;
  const { out } = await sandboxed(script, { cwd: dir.path, program: { memoryBytes: 200 * 1024 ** 2 } });
  expect(out).toBe('one\n');
});

it('F30 whatever it does with sessions and forks, nothing is left half a second after its time', async (context) => {
  needsBwrap(context);
  await using dir = await tempDir();
  let below: readonly number[] = [];
  const script = `for i in 1 2 3 4 5; do setsid sh -c 'trap "" TERM; exec sleep 60' >/dev/null 2>&1 & done; trap '' TERM; sleep 60`;
  const stop = new AbortController();
  const running = sandboxed(script, {
    ...{ cwd: dir.path, signal: stop.signal },
    onStart: async ({ pid }) => {
      const count = async () => {
        below = await descendantsOf(pid);
        return below.length;
      };
      void until('six sleepers', async () => (await count()) >= 8).then(() => stop.abort(new Error('over')));
    },
  });
  await expect(running).rejects.toThrow('over');
  expect(await Promise.all(below.map(startOf))).toEqual(below.map(() => undefined));
});

it('a program that ends when it is asked to has the time to do so', async (context) => {
  needsBwrap(context);
  await using dir = await tempDir();
  const script = `trap 'echo tidy >tidied; exit 0' TERM; echo; sleep 60 & wait`;
  await sandboxed(script, { cwd: dir.path, timeoutMs: 700 });
  expect(await readFile(join(dir.path, 'tidied'), 'utf8')).toBe('tidy\n');
});

it('A21 a directory that is a link, or not there, is refused', async (context) => {
  needsBwrap(context);
  await using dir = await tempDir();
  await symlink('/', join(dir.path, 'link'));
  for (const name of ['link', 'none'])
    await expect(sandboxed('ls', { cwd: join(dir.path, name) })).rejects.toMatchObject({ code: 'GH2010' });
});

it('a path of the config is shown read-only, what is hidden below it is not', async (context) => {
  needsBwrap(context);
  // The directory of the other tests may lie in /dev.
  await using dir = await tempDir('/var/tmp');
  for (const name of ['workspace', 'shown', 'shown/state']) await mkdir(join(dir.path, name));
  for (const name of ['shown/file', 'shown/state/journal']) await writeFile(join(dir.path, name), 'text');
  const jail = { readable: [join(dir.path, 'shown')], hidden: [join(dir.path, 'shown/state')] };
  const script = `cd ${dir.path}/shown && cat file; ls state; echo x >new; echo x >state/new`;
  const { out } = await sandboxed(script, { cwd: join(dir.path, 'workspace'), jail });
  expect(out).toBe('text');
  expect(existsSync(join(dir.path, 'shown/new'))).toBe(false);
  await symlink('/etc', join(dir.path, 'etc'));
  const evil = sandboxed('true', { cwd: join(dir.path, 'workspace'), jail: { readable: [join(dir.path, 'etc')] } });
  await expect(evil).rejects.toThrow('must not see');
});

it.each([
  '/',
  '/etc',
  '/etc/ssl',
  '/proc/1',
  '/dev',
  '/sys',
  '/var/run/docker.sock',
  '/run',
  '/var',
  'home',
  '/a:/b',
  '/a/../etc',
  '//etc/',
])('refuses to show %s', (path) => expect(refusedPath(path)).toBeDefined());

it('takes a directory that belongs to the operator', () => {
  expect(['/srv/data', '/home/ada/books', '/opt'].map(refusedPath)).toEqual([undefined, undefined, undefined]);
});

it('a user without rights has the sandbox too, with a bound on its processes', async (context) => {
  needsBwrap(context);
  if (process.getuid?.() !== 0) return;
  needs(
    context,
    'setpriv',
    '--reuid=65534',
    '--regid=65534',
    '--clear-groups',
    'bwrap',
    '--ro-bind',
    '/',
    '/',
    '--unshare-all',
    'true',
  );
  await using dir = await tempDir();
  for (let at = dir.path; at.length > 8; at = join(at, '..')) await chmod(at, 0o711);
  await chown(dir.path, 65534, 65534);
  const script = 'i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i + 1)); done; jobs -p | wc -l';
  const env = { PATH: '/usr/bin:/bin' };
  const jailed = {
    argv: ['/bin/bash', '-c', script],
    cwd: dir.path,
    env,
    sandbox: 'tool',
    network: false,
    memoryBytes: 1e9,
    pids: 20,
  } as const;
  const command = confine(jailed, JAIL);
  const argv = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', ...command.argv];
  const options = { timeoutMs: 4_000, outputBytes: 5_000, onStart: async () => undefined, clock: systemClock };
  const { err } = await runGroup({ ...command, argv }, options, NEVER);
  expect(err).toContain('fork: retry: Resource temporarily unavailable');
});
