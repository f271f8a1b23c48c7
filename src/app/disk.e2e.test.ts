// The real daemon on disks that are full, failing, read-only, or hold a damaged journal.
import { randomBytes } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { gate, until } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';
import { fillDisk, onSmallDisk } from '../testing/small-disk.ts';
import { telegramScene } from '../testing/telegram/scene.ts';

const READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"';

/** Runs the daemon in a mount namespace of its own; the pid stays that of the first program. */
function mounted(dir: string, shell: string): readonly string[] {
  return ['unshare', '-rm', 'sh', '-c', shell, 'sh', join(dir, 'data')];
}

test.concurrent('F13 on a full disk nothing is acknowledged, /readyz is 503, and with room again all goes on by itself', async (context) => {
  await using at = await telegramScene();
  await mkdir(join(at.dir, 'data'));
  needs(context, 'unshare', '-rm', 'mount', '-t', 'tmpfs', 'tmpfs', join(at.dir, 'data'));
  await using daemon = await at.spawn({ wrapper: onSmallDisk(join(at.dir, 'data')) });
  await daemon.ready();
  expect((await daemon.get('/readyz')).status).toBe(200);
  const free = fillDisk(daemon);
  at.platform.inject({ text: 'kept by the platform' });
  // On a busy machine the channel may be degraded for a moment before.
  const said = await until('it says so', async () => {
    const { status, body } = await daemon.get('/readyz');
    return JSON.stringify(body).includes('"journal"') ? { status, body } : undefined;
  });
  expect(said).toMatchObject({ status: 503, body: { ready: false, degraded: expect.arrayContaining(['journal']) } });
  expect(daemon.stderr()).toMatch(/"level":"error".*"code":"GH1301","hint":"free disk space;.*"event":"journal"/);
  expect((await daemon.status()).lastErrors).toContainEqual(expect.objectContaining({ code: 'GH1301' }));
  // Several polls later it is still the platform's.
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(at.platform.unconfirmed).toBe(1);
  expect(at.platform.sends).toEqual([]);
  free();
  await daemon.settled(1);
  expect(at.texts()).toEqual(['echo: kept by the platform']);
  expect((await daemon.get('/readyz')).status).toBe(200);
  // Also with a full disk it can be stopped.
  fillDisk(daemon);
  expect(await daemon.stop()).toEqual({ code: 0, signal: null });
});

test.concurrent('F14 a disk that fills up while an answer is sent: not sent again, its record waits for room', async (context) => {
  await using at = await telegramScene();
  await mkdir(join(at.dir, 'data'));
  needs(context, 'unshare', '-rm', 'mount', '-t', 'tmpfs', 'tmpfs', join(at.dir, 'data'));
  await using daemon = await at.spawn({ wrapper: onSmallDisk(join(at.dir, 'data')) });
  await daemon.ready();
  const held = gate();
  at.platform.fault({ kind: 'hold', method: 'sendMessage', until: held.opened });
  at.platform.inject({ text: 'hello' });
  await until('the send is under way', () => at.platform.calls.includes('sendMessage'));
  const free = fillDisk(daemon);
  held.open();
  await until('the record cannot be written', async () => (await daemon.get('/readyz')).status === 503);
  expect(at.texts()).toEqual(['echo: hello']);
  free();
  const { journal } = await daemon.settled(1);
  expect(journal.outbox).toMatchObject({ SENT: 1, UNKNOWN: 0 });
  expect(at.platform.sends).toHaveLength(1);
});

test.concurrent('F15 a sync that fails ends the process with code 1 and the reason; nothing acknowledged is lost', async (context) => {
  needs(context, 'strace', '--seccomp-bpf', '-f', '-o', '/dev/null', 'true');
  await using at = await telegramScene();
  const inject = ['-e', 'trace=fsync,fdatasync', '-e', 'inject=fsync,fdatasync:error=EIO:when=30+'];
  await using daemon = await at.spawn({ wrapper: ['strace', '--seccomp-bpf', '-f', '-o', '/dev/null', ...inject] });
  const { platform } = at;
  // Far more than the syncs that succeed, of which a busy machine makes one for many messages, and fewer than
  // may wait in one chat.
  const feed = setInterval(() => platform.maxUpdateId < 450 && platform.inject({ text: `n${platform.maxUpdateId}` }), 20);
  const { code } = await daemon.ended.finally(() => clearInterval(feed));
  expect(code).toBe(1);
  const endedAt = Date.now();
  const fatal =
    daemon
      .stderr()
      .split('\n')
      .find((line) => line.includes('"event":"journal.fatal"')) ?? '{}';
  expect(JSON.parse(fatal)).toMatchObject({ level: 'error', code: 'GH1302', hint: expect.stringContaining('restore') });
  // Nothing more can be recorded, so nothing is waited for.
  expect(endedAt - Date.parse(JSON.parse(fatal).time)).toBeLessThan(4_000);
  const sent = at.platform.maxUpdateId;
  await using second = await at.start();
  await second.settled(sent);
  const texts = at.texts();
  expect(new Set(texts).size).toBe(texts.length);
  const { outbox } = (await second.status()).journal;
  expect(outbox.SENT + outbox.UNKNOWN).toBe(sent);
  // What was being sent when the disk failed may or may not have arrived; it is never more than one per chat.
  expect(outbox.UNKNOWN).toBeLessThanOrEqual(1);
});

test.concurrent('F16 a read-only data directory is refused at start with one clear line, exit 1', async (context) => {
  await using at = await telegramScene();
  await mkdir(join(at.dir, 'data'));
  needs(context, 'unshare', '-rm', 'mount', '-t', 'tmpfs', 'tmpfs', join(at.dir, 'data'));
  await using daemon = await at.spawn({ wrapper: mounted(at.dir, READ_ONLY) });
  expect((await daemon.ended).code).toBe(1);
  expect(daemon.stderr()).toMatch(/^✗ GH1202 \S+ cannot be written: the file system is read-only\n {2}→ .+\n$/);
});

test.concurrent('F19 a damaged journal is refused with one clear line, exit 1, and left as it is', async () => {
  await using at = await telegramScene();
  {
    await using first = await at.start();
    at.platform.inject({ text: 'hello' });
    await first.settled(1);
    await first.stop();
  }
  const path = join(at.dir, 'data/journal.db');
  await using file = await open(path, 'r+');
  const damaged = randomBytes(8_192);
  await file.write(damaged, 0, damaged.length, 0);
  await using second = await at.spawn();
  expect((await second.ended).code).toBe(1);
  expect(second.stderr()).toMatch(/^✗ GH1302 .+\n {2}→ .+\n$/);
  expect((await file.read(Buffer.alloc(8_192), 0, 8_192, 0)).buffer.equals(damaged)).toBe(true);
  expect(at.platform.sends).toHaveLength(1);
});
