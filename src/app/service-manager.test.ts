import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../lib/clock.ts';
import { SILENT } from '../lib/silent-logger.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { missing } from '../testing/needs.ts';
import { ServiceManager } from './service-manager.ts';

/** Prints each datagram as a line of JSON. It reads the credentials as systemd does, by which it knows the sender. */
const LISTENER = `
import array, json, os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
s.bind(sys.argv[1])
print('"bound"', flush=True)
while True:
    data, more, *_ = s.recvmsg(4096, 4096)
    # systemd-notify waits until what it hands over is closed.
    for level, kind, fds in more:
        if kind == socket.SCM_RIGHTS: [os.close(fd) for fd in array.array('i', fds)]
    print(json.dumps(data.decode()), flush=True)
`;

test('systemd is told once that the daemon is ready, pinged while the journal is well, and told that it stops', async (context) => {
  if (!existsSync('/usr/bin/systemd-notify')) missing(context, 'systemd-notify is not installed');
  await using dir = await tempDir();
  const socket = join(dir.path, 'notify');
  const listener = spawn('python3', ['-c', LISTENER, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    let text = '';
    listener.stdout.on('data', (chunk: Buffer) => {
      text += String(chunk);
    });
    await until('the socket', () => text.includes('bound'));
    const count = (word: string): number => text.split(word).length - 1;
    let well = true;
    const env = { PATH: process.env['PATH'], NOTIFY_SOCKET: socket, WATCHDOG_USEC: '100000' };
    const manager = new ServiceManager({ env, clock: systemClock, logger: SILENT, isWell: async () => well });
    manager.ready('2 channels');
    await until('ready and two pings', () => count('READY=1') === 1 && count('WATCHDOG=1') >= 2);
    expect(text).toContain('STATUS=2 channels');
    well = false;
    await systemClock.sleep(1_000, new AbortController().signal);
    const before = count('WATCHDOG=1');
    await systemClock.sleep(400, new AbortController().signal);
    expect(count('WATCHDOG=1')).toBe(before);
    await manager.stopping('SIGTERM');
    await until('the end', () => count('STOPPING=1') === 1);
    expect(count('READY=1')).toBe(1);
  } finally {
    listener.kill();
    await once(listener, 'exit');
  }
});

test('nothing is started without NOTIFY_SOCKET', async () => {
  await using dir = await tempDir();
  const warned: string[] = [];
  const logger = { ...SILENT, warn: (event: string) => void warned.push(event) };
  // A program that cannot be found would be warned of.
  const options = { env: { PATH: dir.path, WATCHDOG_USEC: '1000' }, clock: systemClock, logger, isWell: async () => true };
  const manager = new ServiceManager(options);
  manager.ready('up');
  await manager.stopping('end');
  expect(warned).toEqual([]);
  const told = new ServiceManager({ ...options, env: { PATH: dir.path, NOTIFY_SOCKET: join(dir.path, 'none') } });
  await told.stopping('end');
  expect(warned).toEqual(['systemd.not-told']);
});
