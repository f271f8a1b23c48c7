/** What a kill and a full disk leave behind, with real processes. */
import { spawn } from 'node:child_process';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { SessionDamage } from '../src/core/session.ts';
import { FakeClock, tempDir } from '../src/testing/fakes.ts';
import { needs } from '../src/testing/needs.ts';
import { message, messages } from './contract.ts';
import { sessionStem } from './file-name.ts';
import { openJsonlStore } from './jsonl-store.ts';

const KEY = '_main:cli:me';
const modulePath = (file: string) => JSON.stringify(fileURLToPath(new URL(file, import.meta.url)));
const PRELUDE = `
  import { openJsonlStore } from ${modulePath('./jsonl-store.ts')};
  import { systemClock } from ${modulePath('../src/lib/clock.ts')};
  const store = openJsonlStore({ dir: process.argv[1], clock: systemClock, onDamage: (damage) => console.log('damage', damage.lines.length) });
  const line = (n, length) => ({ id: 'm-' + n, role: 'user', content: 'x'.repeat(length), timestamp: new Date().toISOString() });
  const tell = (text) => new Promise((resolve) => process.stdout.write(text + '\\n', resolve));`;

/** `within`: a program, and its arguments, that runs the child. */
function child(script: string, dir: string, within: readonly string[] = []) {
  const node = [process.execPath, '--input-type=module', '-e', PRELUDE + script, dir];
  const [command = '', ...args] = [...within, ...node];
  const running = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise<number | null>((resolve) => running.once('exit', resolve));
  return { running, exited, lines: createInterface({ input: running.stdout }) };
}

test('killed between any two instants, every acknowledged line is there, once, and nothing is damaged but an unfinished one', async () => {
  await using dir = await tempDir();
  const acknowledged = new Set<string>();
  const damages: SessionDamage[] = [];
  let next = 0;
  for (let round = 0; round < 8; round += 1) {
    const script = `for (let n = ${next}; ; n += 1) { await store.append(${JSON.stringify(KEY)}, [line(n, 200 + (n * 7919) % 5000)]); await tell('m-' + n); }`;
    const { running, exited, lines } = child(script, dir.path);
    const enough = 5 + round * 11;
    let count = 0;
    for await (const id of lines) {
      acknowledged.add(id);
      count += 1;
      if (count === enough) setTimeout(() => running.kill('SIGKILL'), round % 4);
    }
    await exited;
    const store = openJsonlStore({ dir: dir.path, clock: new FakeClock(), onDamage: (damage) => damages.push(damage) });
    const ids = (await store.load(KEY))?.messages.map(({ id }) => id) ?? [];
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining([...acknowledged]));
    next = ids.length;
  }
  for (const damage of damages) expect(damage.lines).toHaveLength(1);
});

test('F13 a disk that fills up in the middle of a line: refused, earlier lines untouched, the same append works later', async () => {
  await using dir = await tempDir();
  const store = openJsonlStore({ dir: dir.path, clock: new FakeClock(), onDamage: () => undefined });
  await store.append(KEY, messages(3));
  const before = await readFile(`${sessionStem(dir.path, KEY)}.jsonl`);
  const script = `
    try { await store.append(${JSON.stringify(KEY)}, [line(3, 20000)]); await tell('accepted'); } catch (error) { await tell(error.code); }
    await tell(String((await store.load(${JSON.stringify(KEY)})).messages.length));
    await store.append(${JSON.stringify(KEY)}, [line(4, 10)]);
    await tell(String((await store.load(${JSON.stringify(KEY)})).messages.length));`;
  // ulimit -f counts 512-byte blocks in POSIX sh; Node ignores SIGXFSZ, so a write past it fails with EFBIG.
  const { exited, lines } = child(script, dir.path, ['/bin/sh', '-c', 'ulimit -f 8; exec "$@"', 'sh']);
  const told: string[] = [];
  for await (const text of lines) told.push(text);
  expect(await exited).toBe(0);
  expect(told).toEqual(['GH1401', '3', '4']);
  const after = await readFile(`${sessionStem(dir.path, KEY)}.jsonl`);
  expect(after.subarray(0, before.length).equals(before)).toBe(true);
  await store.append(KEY, [message(3)]);
  expect((await store.load(KEY))?.messages.map(({ id }) => id)).toEqual(['m-0', 'm-1', 'm-2', 'm-4', 'm-3']);
});

test('F13 a disk that fills up in the middle of a line of an archive: the same lines, put there later, are all in it', async () => {
  await using dir = await tempDir();
  const path = `${sessionStem(dir.path, KEY)}.archive.jsonl`;
  const store = openJsonlStore({ dir: dir.path, clock: new FakeClock(), onDamage: () => undefined });
  await store.archive(KEY, messages(2));
  const before = await readFile(path);
  const script = `
    try { await store.archive(${JSON.stringify(KEY)}, [line(2, 10), line(3, 20000)]); await tell('accepted'); } catch (error) { await tell(error.code); }`;
  const { exited, lines } = child(script, dir.path, ['/bin/sh', '-c', 'ulimit -f 8; exec "$@"', 'sh']);
  const told: string[] = [];
  for await (const text of lines) told.push(text);
  expect(await exited).toBe(0);
  expect(told).toEqual(['GH1401']);
  expect((await readFile(path)).equals(before)).toBe(true);
  await store.archive(KEY, [{ ...message(2) }, { ...message(3), content: 'x'.repeat(20_000) }]);
  expect((await store.archived(KEY)).map(({ id }) => id)).toEqual(['m-0', 'm-1', 'm-2', 'm-3']);
});

test('F13 a disk that makes no new file: a session that cannot be rotated is put into its archive once, not at each try', async (context) => {
  needs(context, 'strace', '-o', '/dev/null', 'true');
  await using dir = await tempDir();
  const path = `${sessionStem(dir.path, KEY)}.jsonl`;
  const store = openJsonlStore({ dir: dir.path, clock: new FakeClock(), onDamage: () => undefined });
  await store.append(KEY, messages(20));
  const script = `
    const full = openJsonlStore({ dir: process.argv[1], clock: systemClock, maxBytes: 2500, onDamage: () => undefined });
    let refused = 0;
    for (let n = 0; n < 5; n += 1) refused += await full.append(${JSON.stringify(KEY)}, [line(20, 1000)]).then(() => 0, () => 1);
    await tell(String(refused));`;
  const fault = ['--seccomp-bpf', '-e', 'trace=/^rename', '-e', 'inject=/^rename:error=ENOSPC'];
  const { exited, lines } = child(script, dir.path, ['strace', '-f', '-qq', '-o', '/dev/null', ...fault]);
  const told: string[] = [];
  for await (const text of lines) told.push(text);
  expect(await exited).toBe(0);
  expect(told).toEqual(['5']);
  const archive = await readFile(`${sessionStem(dir.path, KEY)}.archive.jsonl`);
  expect(archive.equals(await readFile(path))).toBe(true);
});

test('F13 what a kill left in an archive unsynced, and the disk then refuses to sync, is put there again', async (context) => {
  needs(context, 'strace', '-o', '/dev/null', 'true');
  await using dir = await tempDir();
  const path = join(dir.path, 'a.jsonl');
  await writeFile(path, '{"id":"m-1"}\n');
  const script = `
    const { appendSynced } = await import(${modulePath('./disk.ts')});
    const put = () => appendSynced(process.argv[1] + '/a.jsonl', Buffer.from('{"id":"m-1"}\\n')).then(() => 'kept', ({ code }) => code);
    for (let n = 0; n < 3; n += 1) await tell(await put());`;
  // strace counts the calls of each thread by itself.
  const strace = ['env', 'UV_THREADPOOL_SIZE=1', 'strace', '-f', '-qq', '-o', '/dev/null', '-P', path];
  const { exited, lines } = child(script, dir.path, [...strace, '-e', 'inject=fsync:error=EIO:when=1']);
  const told: string[] = [];
  for await (const text of lines) told.push(text);
  expect(await exited).toBe(0);
  expect(told).toEqual(['EIO', 'kept', 'kept']);
  expect(await readFile(path, 'utf8')).toBe('{"id":"m-1"}\n{"id":"m-1"}\n');
});

test.each([
  ['the same line', [2]],
  ['another line', [3, 2]],
])('killed in the middle of a line of an archive, with %s put there next: none is missing', async (_what, next) => {
  await using dir = await tempDir();
  const path = `${sessionStem(dir.path, KEY)}.archive.jsonl`;
  const store = openJsonlStore({ dir: dir.path, clock: new FakeClock(), onDamage: () => undefined });
  await store.archive(KEY, messages(2));
  await appendFile(path, '{"id":"m-2","role":"user","content":"half of');
  for (const n of next) await store.archive(KEY, [message(n)]);
  expect(await store.archived(KEY)).toEqual([...messages(2), ...next.map((n) => message(n))]);
});

test.for([
  ['writes', 'write:error=ENOSPC:when=1+3'],
  ['syncs', 'fdatasync:error=EIO:when=1+3'],
  ['syncs and the cuts behind them', 'fdatasync:error=EIO:when=1+3', 'ftruncate:error=EIO:when=1+2'],
])(
  'F13 a disk that refuses %s of a session file now and then: no line is lost or doubled, no descriptor stays open',
  async ([, ...faults], context) => {
    needs(context, 'strace', '-o', '/dev/null', 'true');
    await using dir = await tempDir();
    const path = `${sessionStem(dir.path, KEY)}.jsonl`;
    const script = `
    const { readdirSync } = await import('node:fs');
    const append = (n) => store.append(${JSON.stringify(KEY)}, [line(n, 100)]).then(() => 0, () => 1);
    await append(0);
    const open = readdirSync('/proc/self/fd').length;
    let refused = 0;
    for (let n = 0; n < 30; n += 1) while (await append(n)) refused += 1;
    await tell(refused > 5 ? 'refused' : 'never refused');
    await tell(String(readdirSync('/proc/self/fd').length - open));`;
    const inject = faults.flatMap((fault) => ['-e', `inject=${fault}`]);
    const { exited, lines } = child(script, dir.path, ['strace', '-f', '-qq', '-o', '/dev/null', '-P', path, ...inject]);
    const told: string[] = [];
    for await (const text of lines) told.push(text);
    expect(await exited).toBe(0);
    expect(told).toEqual(['refused', '0']);
    const store = openJsonlStore({ dir: dir.path, clock: new FakeClock(), onDamage: () => undefined });
    expect((await store.load(KEY))?.messages.map(({ id }) => id)).toEqual(Array.from({ length: 30 }, (_line, n) => `m-${n}`));
  },
);
