import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { systemClock } from '../lib/clock.ts';
import { FakeClock, MemoryLogger, tempDir, until } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';
import { ServiceManager } from './service-manager.ts';

/** What systemd does: a datagram socket, of which each message is a line here. */
const LISTENER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1]); print("bound", flush=True)
while True:
    data, fds, flags, addr = socket.recv_fds(s, 65536, 4)
    if data != b"BARRIER=1": print(data.decode().replace("\\n", " | "), flush=True)
    for fd in fds: import os; os.close(fd)
`;

async function manager(context: TestContext) {
  needs(context, 'systemd-notify', '--version');
  needs(context, 'python3', '--version');
  const dir = await tempDir();
  const socket = join(dir.path, 'notify');
  const child: ChildProcess = spawn('python3', ['-c', LISTENER, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout?.on('data', (chunk) => {
    said += String(chunk);
  });
  onTestFinished(async () => {
    child.kill();
    await once(child, 'exit');
    await dir[Symbol.asyncDispose]();
  });
  await until('it listens', () => said.includes('bound'));
  return { socket, lines: () => said.trim().split('\n').slice(1) };
}

test('systemd is told once that the daemon is ready, then that it is alive, then that it stops', async (context) => {
  const { socket, lines } = await manager(context);
  const logger = new MemoryLogger();
  const env = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '400000', PATH: process.env['PATH'], SECRET: 'x' };
  using service = new ServiceManager({ env, clock: systemClock, logger });
  await service.ready('3 channels');
  expect(lines()).toEqual(['READY=1 | STATUS=3 channels']);
  await until('it is alive', () => lines().filter((line) => line === 'WATCHDOG=1').length >= 2);
  await service.stopping('SIGTERM');
  expect(lines().filter((line) => line !== 'WATCHDOG=1')).toEqual([
    'READY=1 | STATUS=3 channels',
    'STOPPING=1 | STATUS=stopping: SIGTERM',
  ]);
  expect(logger.lines).toEqual([]);
});

test('without a service manager no process is started, and none is waited for', async () => {
  const [clock, logger] = [new FakeClock(), new MemoryLogger()];
  // No program is there at all.
  using service = new ServiceManager({ env: { PATH: '/nowhere', WATCHDOG_USEC: '1000' }, clock, logger });
  await service.ready('x');
  await service.stopping('x');
  expect([logger.lines, clock.sleeping]).toEqual([[], 0]);
});

test('a manager that cannot be told is a warning with the repair', async () => {
  const logger = new MemoryLogger();
  using service = new ServiceManager({ env: { NOTIFY_SOCKET: '/nowhere/socket', PATH: '/nowhere' }, clock: systemClock, logger });
  await service.ready('x');
  expect(logger.lines).toMatchObject([
    { level: 'warn', event: 'service-manager.untold', data: { hint: expect.stringContaining('apt-get install systemd') } },
  ]);
});
