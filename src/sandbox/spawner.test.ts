// The spawner of the daemon on a real worker process.
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { connect as connectTo } from 'node:net';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import type { Clock } from '../core/ports.ts';
import type { ProcessRow, Spawn } from '../core/process.ts';
import { systemClock } from '../lib/clock.ts';
import { MAIN } from '../testing/child-daemon.ts';
import { FakeClock, MemoryLogger, tempDir, until } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';
import { importOf, withoutDescriptors } from '../testing/without-descriptors.ts';
import { confine } from './confine.ts';
import { type Connect, childWorker, socketWorker } from './connect.ts';
import { startOf } from './kernel-process.ts';
import { send } from './messages.ts';
import { reapProcess } from './reap.ts';
import { serveWorker } from './serve.ts';
import { AT_ONCE, type ProcessBook, WorkerSpawner } from './spawner.ts';
import { serveConnection } from './worker.ts';
import { WorkerClient } from './worker-client.ts';

const NEVER = new AbortController().signal;
const PATH = '/usr/bin:/bin';

/** Rows in memory, and what was done to them in order. */
function memoryBook(left: readonly ProcessRow[] = []) {
  const rows = new Map(left.map((row) => [row.id, row]));
  const book: ProcessBook = {
    add: async (row) => void rows.set(row.id, row),
    remove: async (id) => void rows.delete(id),
    left: async () => left,
  };
  return { rows, book };
}

function spawnerOn(connect: Connect, book = memoryBook().book, clock: Clock = systemClock): WorkerSpawner {
  const confinement = () => ({ mode: 'none', network: false, readable: [], hidden: [] }) as const;
  return new WorkerSpawner({ connect, confinement, book, newId: randomUUID, clock, logger: new MemoryLogger() });
}

const child = (): Connect => childWorker({ main: MAIN, path: PATH, logger: new MemoryLogger() });

/** A worker in this process: two streams that are joined. */
const within = (): Connect => async () => {
  const { a, b } = joined();
  void serveConnection(b, systemClock);
  return a;
};

function joined(): { readonly a: Duplex; readonly b: Duplex } {
  const half = (other: () => Duplex): Duplex =>
    new Duplex({
      read: () => undefined,
      write: (chunk, _, done) => {
        other().push(chunk);
        done();
      },
      destroy: (error, done) => {
        other().push(null);
        done(error);
      },
    });
  const a: Duplex = half(() => b);
  const b: Duplex = half(() => a);
  return { a, b };
}

/** Whose call it is, where a run asks for the program. */
const owner = { run: 'r', callId: 'c' };

function shell(script: string, more: Partial<Spawn> = {}): Spawn {
  return {
    ...{ argv: ['/bin/sh', '-c', script], cwd: '/', env: { PATH }, sandbox: 'tool', network: false, owner: 'daemon' },
    limits: { timeoutMs: 20_000, outputBytes: 10_000 },
    ...more,
  };
}

it('a program runs in a worker that is started for it, with nothing of our environment, and its row is gone behind it', async () => {
  process.env['GATEHOUSE_TEST_CANARY'] = 'CANARY';
  const { rows, book } = memoryBook();
  const seen: ProcessRow[] = [];
  const add: ProcessBook['add'] = async (row) => {
    seen.push(row);
    await book.add(row);
  };
  using spawner = spawnerOn(child(), { ...book, add });
  const script = 'cat; echo err >&2; cat /proc/$PPID/environ; exit 4';
  const exit = await spawner.run(shell(script, { owner, stdin: 'in\n' }), NEVER);
  expect(exit).toMatchObject({ code: 4, timedOut: false, err: 'err\n', cut: 0 });
  expect(exit.out).toContain('in\n');
  expect(exit.out).not.toContain('CANARY');
  expect(seen).toEqual([expect.objectContaining({ owner, program: 'sh', pgid: expect.any(Number) })]);
  expect(rows.size).toBe(0);
});

it('A24 without a sandbox a program of a tool has an empty, private HOME that ends with it, and where one is given has that', async () => {
  using spawner = spawnerOn(within());
  const { out } = await spawner.run(shell('echo "$HOME"; ls -A ~; stat -c %a ~; mktemp; echo x >~/x && cat ~/x'), NEVER);
  const [home = '', mode, temporary, kept] = out.split('\n');
  expect([mode, kept, temporary?.startsWith(`${home}/`), existsSync(home)]).toEqual(['700', 'x', true, false]);
  const env = { PATH, HOME: '/srv' };
  expect((await spawner.run(shell('echo "$HOME $TMPDIR"', { env }), NEVER)).out).toBe('/srv \n');
  // A program of the operator gets what it was given, and no more.
  expect((await spawner.run(shell('echo "$HOME"', { sandbox: 'trusted' }), NEVER)).out).toBe('\n');
});

it('several run at once, each with its own lines, and an abort ends only its own', async () => {
  using spawner = spawnerOn(child());
  const lines: string[] = [];
  const onLine: Spawn['onLine'] = (stream, line) => lines.push(`${stream} ${line}`);
  const stop = new AbortController();
  const stopped = spawner.run(shell('echo begun; sleep 60', { onLine }), stop.signal);
  const other = spawner.run(shell('echo two; sleep 1; echo three >&2', { onLine }), NEVER);
  await until('both begun', () => lines.length >= 2);
  stop.abort(new Error('enough'));
  await expect(stopped).rejects.toThrow('enough');
  expect(await other).toMatchObject({ code: 0, out: 'two\n', err: 'three\n' });
  // The shell that is stopped may still say so.
  expect(lines.filter((line) => line !== 'err Terminated').sort()).toEqual(['err three', 'out begun', 'out two']);
});

it('however many programs of tools run, those of the operator have places of their own', async () => {
  const { rows, book } = memoryBook();
  using spawner = spawnerOn(child(), book);
  const stop = new AbortController();
  const filling = Promise.allSettled(
    Array.from({ length: 64 }, () => spawner.run(shell('exec sleep 60', { owner }), stop.signal)),
  );
  await until('as many run as may', () => rows.size === AT_ONCE);
  const ours = await Promise.all(Array.from({ length: 16 }, () => spawner.run(shell('exit 1', { sandbox: 'trusted' }), NEVER)));
  expect(ours.map(({ code }) => code)).toEqual(ours.map(() => 1));
  stop.abort(new Error('enough'));
  await filling;
});

it('a program for which there is no place waits until another has ended, or is stopped before it began', async () => {
  const { rows, book } = memoryBook();
  using spawner = spawnerOn(child(), book);
  const stops = Array.from({ length: AT_ONCE }, () => new AbortController());
  const filling = Promise.allSettled(stops.map(({ signal }) => spawner.run(shell('exec sleep 60', { owner }), signal)));
  await until('as many run as may', () => rows.size === AT_ONCE);
  const stopped = new AbortController();
  const [first, second] = [
    spawner.run(shell('echo first', { owner }), NEVER),
    spawner.run(shell('echo second', { owner }), stopped.signal),
  ];
  stopped.abort(new Error('enough'));
  await expect(second).rejects.toThrow('enough');
  expect(rows.size).toBe(AT_ONCE);
  stops[0]?.abort(new Error('over'));
  expect((await first).out).toBe('first\n');
  for (const stop of stops) stop.abort(new Error('over'));
  await filling;
});

it('a program that has waited a minute for a place is refused with what to do', async () => {
  const clock = new FakeClock();
  const { rows, book } = memoryBook();
  using spawner = spawnerOn(within(), book, clock);
  const stop = new AbortController();
  const filling = Promise.allSettled(
    Array.from({ length: AT_ONCE }, () => spawner.run(shell('exec sleep 60', { owner }), stop.signal)),
  );
  await until('as many run as may', () => rows.size === AT_ONCE);
  const late = expect(spawner.run(shell('true', { owner }), NEVER)).rejects.toMatchObject({
    code: 'GH2010',
    hint: 'try again later',
  });
  await clock.advance(60_000);
  await late;
  stop.abort(new Error('enough'));
  await filling;
});

it('of a flood of progress two lines a second are told at most, and of standard output none', async () => {
  using spawner = spawnerOn(child());
  const lines: string[] = [];
  const script = 'yes out | head -n 100000; yes err | head -n 100000 >&2; sleep 1; echo last >&2';
  const begun = performance.now();
  await spawner.run(shell(script, { onProgress: (line) => lines.push(line) }), NEVER);
  expect(lines[0]).toBe('err');
  expect(lines.at(-1)).toBe('last');
  expect(lines.length).toBeLessThanOrEqual(2 + Math.ceil((performance.now() - begun) / 500));
});

it('a worker that is killed fails its calls with a reason, and the next call has a new one', async () => {
  using spawner = spawnerOn(child());
  const pids: number[] = [];
  const onLine: Spawn['onLine'] = (_, line) => pids.push(...line.split(' ').map(Number));
  const running = spawner.run(shell('echo $PPID $$; sleep 60', { onLine }), NEVER);
  const failed = expect(running).rejects.toMatchObject({ code: 'GH2011' });
  await until('its ids', () => pids.length === 2);
  process.kill(pids[0] ?? 0, 'SIGKILL');
  await failed;
  expect((await spawner.run(shell('echo again'), NEVER)).out).toBe('again\n');
});

it.runIf(process.platform === 'linux')('a worker for which no descriptor is left is refused, and ends nothing else', () => {
  const script = `
    const connect = childWorker({ main: '/none', path: '/usr/bin:/bin', logger: console });
    const error = await connect().catch((reason) => reason);
    free();
    console.log(error.code, error.cause?.code);`;
  expect(withoutDescriptors(importOf('childWorker', './connect.ts', import.meta.url), script)).toBe('GH2011 EMFILE');
});

it('a worker that hangs is given up, and the program that was to be stopped ends all the same', async () => {
  const { rows, book } = memoryBook();
  using spawner = spawnerOn(child(), book);
  const pids: number[] = [];
  const onLine: Spawn['onLine'] = (_, line) => pids.push(...line.split(' ').map(Number));
  const stop = new AbortController();
  const running = spawner.run(shell(`trap '' TERM; echo $PPID $$; sleep 60; sleep 60`, { onLine }), stop.signal);
  const failed = expect(running).rejects.toThrow('enough');
  await until('its ids', () => pids.length === 2);
  const [worker = 0, program = 0] = pids;
  process.kill(worker, 'SIGSTOP');
  try {
    stop.abort(new Error('enough'));
    await failed;
    expect(await startOf(program)).toBeUndefined();
    expect(rows.size).toBe(0);
  } finally {
    process.kill(worker, 'SIGKILL');
  }
});

it.each([
  ['none', 4_000, 6_000],
  ['docker', 14_000, 16_000],
] as const)('in mode %s a stop may take as long as what is removed behind it', async (mode, within, beyond) => {
  const clock = new FakeClock();
  const { a } = joined();
  const client = new WorkerClient(a, clock);
  const confinement = { mode, network: false, readable: [], hidden: [], image: 'debian' };
  const program = { argv: ['true'], cwd: '/', env: {}, sandbox: 'tool' as const, network: false };
  const stop = new AbortController();
  const request = { program, confinement, timeoutMs: 1_000, outputBytes: 1_000 };
  const failed = expect(client.run(request, { onStart: async () => undefined }, stop.signal)).rejects.toThrow('enough');
  stop.abort(new Error('enough'));
  await clock.advance(within);
  expect(client.isClosed).toBe(false);
  await clock.advance(beyond - within);
  expect(client.isClosed).toBe(true);
  await failed;
});

it('everything ends with the connection, also what ignores a request to end', async () => {
  const spawner = spawnerOn(child());
  let pid = 0;
  const onLine: Spawn['onLine'] = (_, line) => {
    pid = Number(line);
  };
  const running = spawner.run(shell(`trap '' TERM; echo $$; sleep 60; sleep 60`, { onLine }), NEVER);
  const failed = expect(running).rejects.toMatchObject({ code: 'GH2011' });
  await until('its id', () => pid > 0);
  spawner[Symbol.dispose]();
  await failed;
  await until('its end', async () => (await startOf(pid)) === undefined);
});

it('a program does not begin when its row cannot be written', async () => {
  await using dir = await tempDir();
  const book = { ...memoryBook().book, add: () => Promise.reject(new Error('the disk is full')) };
  using spawner = spawnerOn(within(), book);
  await expect(spawner.run(shell(`touch ${dir.path}/x`), NEVER)).rejects.toThrow('the disk is full');
  await expect(stat(join(dir.path, 'x'))).rejects.toThrow('ENOENT');
});

it('F31 100 MB of output cost us nothing: the worker discards them', async () => {
  using spawner = spawnerOn(child());
  await spawner.run(shell('true'), NEVER);
  const before = process.memoryUsage().rss;
  const { cut } = await spawner.run(shell('yes | head -c 100000000'), NEVER);
  expect(cut).toBe(100_000_000 - 10_000);
  expect(process.memoryUsage().rss - before).toBeLessThan(30_000_000);
  const grown = (await spawner.run(shell('grep VmHWM /proc/$PPID/status'), NEVER)).out;
  expect(Number(/\d+/.exec(grown)?.[0])).toBeLessThan(150_000);
});

it('more than a message holds is refused before it is sent, and a message that is none ends the connection', async () => {
  using spawner = spawnerOn(within());
  await expect(spawner.run(shell('cat', { stdin: 'x'.repeat(11_000_000) }), NEVER)).rejects.toMatchObject({ code: 'GH2010' });
  for (const text of ['{}\n', 'x\n', `${'x'.repeat(17 * 1024 ** 2)}`]) {
    const { a, b } = joined();
    a.on('error', () => undefined).resume();
    const served = serveConnection(b, systemClock);
    a.write(text);
    await served;
  }
});

it('F18 reap ends what an earlier boot left, and no process that only has the id of one', async () => {
  const sleeper = () => spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
  const [left, other] = [sleeper(), sleeper()];
  const started = (await startOf(left.pid ?? 0)) ?? '';
  const row = { program: 'sleep', id: 'a', pgid: left.pid ?? 0, started };
  // The id was given to another process since; the boot, and the container, were others; it is long gone.
  const reused = {
    ...row,
    id: 'b',
    pgid: other.pid ?? 0,
    started: started.replace(/\d+$/, (ticks) => String(Number(ticks) - 1)),
  };
  const later = { ...row, id: 'c', pgid: other.pid ?? 0, started: started.replace(/^[^/]+/, 'another-boot') };
  const elsewhere = { ...row, id: 'd', pgid: other.pid ?? 0, started: started.replace(/\[\d+\]/, '[1]') };
  const { rows, book } = memoryBook([row, reused, later, elsewhere, { ...row, id: 'e', pgid: 2 ** 22 - 1 }]);
  using spawner = spawnerOn(within(), book);
  const ended = once(left, 'exit');
  expect(await spawner.reap()).toBe(1);
  await ended;
  expect(await startOf(left.pid ?? 0)).toBeUndefined();
  expect(await startOf(other.pid ?? 0)).toBeDefined();
  expect(rows.size).toBe(0);
  expect(
    await reapProcess(
      { id: 'other', program: 'sh', pgid: other.pid ?? 0, started: (await startOf(other.pid ?? 0)) ?? '' },
      systemClock,
    ),
  ).toBe(true);
});

it('a process that the kernel gave the id of one that is gone is left alone', async (context) => {
  const namespace = ['--user', '--map-root-user', '--pid', '--fork', '--mount-proc'];
  needs(context, 'unshare', ...namespace, 'sh', '-c', 'echo 4710 >/proc/sys/kernel/ns_last_pid');
  const program = join(import.meta.dirname, '../testing/reused-pid.ts');
  const { stdout } = await promisify(execFile)('unshare', [...namespace, process.execPath, program], { timeout: 60_000 });
  expect(JSON.parse(stdout)).toEqual({ ofTheFirst: false, isSpared: true, ofTheOther: true, isEnded: true });
});

it('a worker that listens lets its owner alone connect, and serves several', async () => {
  await using dir = await tempDir();
  const socket = join(dir.path, 'socket');
  const stop = new AbortController();
  const serving = serveWorker({ socket }, systemClock, stop.signal);
  await until('the socket', () => stat(socket).catch(() => undefined));
  await until('its mode', async () => ((await stat(socket)).mode & 0o777) === 0o600);
  using one = spawnerOn(socketWorker(socket));
  using two = spawnerOn(socketWorker(socket));
  const answers = await Promise.all([one, two].map((spawner) => spawner.run(shell('echo here'), NEVER)));
  expect(answers.map(({ out }) => out)).toEqual(['here\n', 'here\n']);
  connectTo(socket)
    .on('error', () => undefined)
    .end();
  stop.abort();
  await serving;
  using late = spawnerOn(socketWorker(socket));
  await expect(late.run(shell('true'), NEVER)).rejects.toMatchObject({ code: 'GH2011' });
});

it('the command serves a socket that the system opened for it', async () => {
  await using dir = await tempDir();
  const socket = join(dir.path, 'socket');
  // As systemd does: the listening socket at descriptor 3, and two words in the environment.
  const program = `import socket, os, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); os.dup2(s.fileno(), 3); os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid())); os.execv(sys.argv[2], sys.argv[2:])`;
  const worker = spawn('python3', ['-c', program, socket, process.execPath, MAIN, 'tools', 'worker'], { stdio: 'ignore' });
  await until('the socket', () => stat(socket).catch(() => undefined));
  {
    using spawner = spawnerOn(socketWorker(socket));
    expect((await spawner.run(shell('echo here'), NEVER)).out).toBe('here\n');
  }
  const ended = once(worker, 'exit');
  worker.kill();
  expect(await ended).toEqual([0, null]);
});

it.runIf(process.platform === 'linux')(
  'F18 reap ends what carries the mark of a row and has no parent any more, and nothing with another mark',
  async () => {
    const [id, another] = [randomUUID(), randomUUID()];
    const orphan = (mark: string) =>
      spawn('sleep', ['60'], { env: { PATH, GATEHOUSE_PROCESS: mark }, stdio: 'ignore', detached: true });
    const [marked, other] = [orphan(id), orphan(another)];
    await Promise.all([once(marked, 'spawn'), once(other, 'spawn')]);
    const gone = once(marked, 'exit');
    // Its first process has ended, and the system gave the id to nothing else.
    const row: ProcessRow = { id, pgid: 2 ** 22 + 1, started: 'long ago', program: 'sleep' };
    const { rows, book } = memoryBook([row]);
    expect(await spawnerOn(child(), book).reap()).toBe(1);
    await gone;
    expect(rows.size).toBe(0);
    expect(await startOf(other.pid ?? 0)).toBeDefined();
    other.kill('SIGKILL');
  },
);

it('a program that left its group ends with the worker that is killed', async (context) => {
  needs(context, 'setsid', '--version');
  await using dir = await tempDir();
  const pids = join(dir.path, 'pids');
  using spawner = spawnerOn(child());
  const script = `setsid sh -c 'echo $$ >> ${pids}; exec sleep 60' & echo $PPID >> ${pids}.worker; sleep 60`;
  const ended = spawner.run(shell(script), NEVER).catch((error: unknown) => error);
  const pid = Number(await until('it runs', () => readFile(pids, 'utf8').catch(() => '')));
  expect(await startOf(pid)).toBeDefined();
  process.kill(Number(await readFile(`${pids}.worker`, 'utf8')), 'SIGKILL');
  expect(await ended).toMatchObject({ code: 'GH2011' });
  await until('it is gone', async () => (await startOf(pid)) === undefined);
});

it('gives a program what is written later, while it runs', async () => {
  using spawner = spawnerOn(child());
  let heard = '';
  const script = 'read -r one; echo "got $one"; read -r two; echo "got $two"';
  let write: (bytes: Uint8Array) => void = () => undefined;
  const ended = spawner.run(
    {
      ...{ argv: ['/bin/sh', '-c', script], cwd: '/', env: { PATH }, sandbox: 'trusted', network: false, owner: 'daemon' },
      limits: { timeoutMs: 30_000, outputBytes: 1_000 },
      onInput: (writer) => {
        write = writer;
        write(Buffer.from('first\n'));
      },
      onOutput: async (bytes) => {
        heard += Buffer.from(bytes).toString();
      },
    },
    NEVER,
  );
  await until('it answers', () => heard === 'got first\n');
  write(Buffer.from('second\n'));
  expect(await ended).toMatchObject({ code: 0, out: 'got first\ngot second\n' });
  // It is gone, so there is no one to tell.
  write(Buffer.from('third\n'));
});

it('a program that does not read what it is told is ended before that fills the memory', async () => {
  using spawner = spawnerOn(child());
  const ended = spawner.run(
    {
      ...shell('exec sleep 60', { limits: { timeoutMs: 60_000, outputBytes: 1_000 } }),
      onInput: (write) => {
        for (let n = 0; n < 66; n += 1) write(Buffer.alloc(1024 ** 2));
      },
    },
    NEVER,
  );
  await expect(ended).rejects.toThrow('it does not read what it is told');
});

it.each(['none', 'docker', 'macos'] as const)('in mode %s no isolated program is started', (mode) => {
  const confinement = { mode, network: true, readable: [], hidden: [], image: 'debian' };
  expect(() => confine({ ...shell('true'), sandbox: 'isolated' }, confinement)).toThrow('only bubblewrap can isolate a program');
});

it('isolates a program: it has no directory, and of what others may read only what is its own', async (context) => {
  needs(context, 'bwrap', '--ro-bind', '/', '/', '--unshare-all', '--proc', '/proc', 'true');
  // What lies in /dev is shown to no program.
  await using dir = await tempDir('/var/tmp');
  const [own, others] = [join(dir.path, 'own'), join(dir.path, 'others')];
  for (const path of [own, others]) {
    await mkdir(path);
    await writeFile(join(path, 'note'), 'canary');
  }
  using spawner = new WorkerSpawner({
    connect: child(),
    confinement: () => ({ mode: 'bwrap', network: true, readable: [others], hidden: [] }),
    ...{ book: memoryBook().book, newId: randomUUID, clock: systemClock, logger: new MemoryLogger() },
  });
  const script = `pwd; echo "$HOME"; cat ${own}/note; cat ${others}/note || echo none; ls /workspace || echo none; touch ${own}/x || echo refused; grep -c . /proc/net/tcp`;
  const exit = await spawner.run(
    {
      ...{ argv: ['/bin/sh', '-c', script], cwd: dir.path, env: { PATH }, sandbox: 'isolated', readable: [own], network: false },
      ...{ owner: 'daemon', limits: { timeoutMs: 30_000, outputBytes: 1_000, memoryBytes: 1024 ** 3, pids: 64 } },
    },
    NEVER,
  );
  expect(exit.out.split('\n')).toEqual(['/tmp', '/tmp', 'canarynone', 'none', 'refused', '1', '']);
});

it('a worker tries containers with the image that they are to have', async () => {
  const { a, b } = joined();
  const client = new WorkerClient(a, new FakeClock());
  const probed = client.probe('docker', { network: false, readable: [], hidden: [], image: 'debian' });
  const [line] = (await once(b, 'data')) as [Buffer];
  const { id, confinement } = JSON.parse(line.toString()) as { readonly id: number; readonly confinement: object };
  send(b, { type: 'probed', id, found: { mode: 'docker', programs: [] } });
  expect(await probed).toMatchObject({ mode: 'docker' });
  expect(confinement).toEqual({ network: false, readable: [], hidden: [], image: 'debian' });
  client[Symbol.dispose]();
});

it('a program that prints more than the daemon reads leaves no listener on the connection', async () => {
  const { a, b } = joined();
  const write = b._write.bind(b);
  // Read a moment later, so that something waits.
  b._write = (...told) => void setTimeout(() => write(...told), 5);
  void serveConnection(b, systemClock);
  let waits = 0;
  b.on('drain', () => {
    waits += 1;
  });
  const before = b.listenerCount('close');
  using spawner = spawnerOn(async () => a);
  await spawner.run(shell('yes | head -c 30000000', { onOutput: async () => undefined }), NEVER);
  expect(waits).toBeGreaterThan(0);
  expect([b.listenerCount('close'), b.listenerCount('drain')]).toEqual([before, 1]);
});
