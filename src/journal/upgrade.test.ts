import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { needs } from '../testing/needs.ts';
import { ofVersion3 } from '../testing/old-journal.ts';
import { byLoad } from '../testing/sample.ts';
import { Database } from './database.ts';
import { openJournal } from './open.ts';
import { MIGRATIONS, migrate, schemaVersion } from './schema.ts';
import type { UpgradeOptions, UpgradeProgress } from './upgrade.ts';

const NEWEST = MIGRATIONS.length;

function upgrade(path: string, options: UpgradeOptions = {}): void {
  using db = new Database(path, { busyMs: 100 });
  migrate(db, MIGRATIONS, () => {}, options);
}

function look<Row>(path: string, sql: string): Row | undefined {
  using db = new Database(path, { readOnly: true, busyMs: 100 });
  return { ...db.get<Row>(sql) } as Row;
}

const rowsOf = (path: string, table: string) => look<{ count: number }>(path, `SELECT count(*) AS count FROM ${table}`)?.count;

it('without 2.2 times its size free in the directory the file is not touched (GH1301)', async () => {
  await using dir = await tempDir();
  const path = await ofVersion3(dir.path, 50);
  const before = await readFile(path);
  const asked: string[] = [];
  const freeBytes = (asks: string): number => {
    asked.push(asks);
    return before.length * 2.2 - 1;
  };
  expect(() => upgrade(path, { freeBytes })).toThrow(
    expect.objectContaining({
      code: 'GH1301',
      message: expect.stringContaining('free in'),
      hint: expect.stringContaining('free disk'),
    }),
  );
  expect(asked).toEqual([dir.path]);
  expect((await readFile(path)).equals(before)).toBe(true);
  expect((await readdir(dir.path)).filter((name) => /bak|upgrade/.test(name))).toEqual([]);
  upgrade(path, { freeBytes: () => before.length * 2.2 + 1 });
  expect(look(path, 'PRAGMA user_version')).toEqual({ user_version: NEWEST });
});

it('each step is told once a second has passed, and none of an upgrade that is quicker', async () => {
  await using dir = await tempDir();
  const told: UpgradeProgress[] = [];
  const onProgress = (progress: UpgradeProgress) => told.push(progress);
  upgrade(await ofVersion3(dir.path, 5), { onProgress, monotonic: () => 0 });
  expect(told).toEqual([]);
  await using slow = await tempDir();
  let now = 0;
  upgrade(await ofVersion3(slow.path, 5), { onProgress, monotonic: () => (now += 600) });
  const steps = Array.from({ length: NEWEST - 3 }, (_, n) => `version ${n + 4}`);
  expect(told.map(({ step }) => step)).toEqual([...steps, 'in its place']);
  expect(told.at(-1)).toEqual({ step: 'in its place', n: NEWEST - 1, of: NEWEST - 1, tookMs: (NEWEST - 1) * 600 });
});

it('the new file gives freed pages back, holds no steps of finished messages, and has no room left over', async () => {
  await using dir = await tempDir();
  const path = await ofVersion3(dir.path, 300);
  const copy = `${path}.v3.bak`;
  await (await openJournal({ dir: dir.path, clock: new FakeClock() }))[Symbol.asyncDispose]();
  expect(look(path, 'PRAGMA auto_vacuum')).toEqual({ auto_vacuum: 2 });
  expect(look(path, 'PRAGMA freelist_count')).toEqual({ freelist_count: 0 });
  expect(look(path, 'PRAGMA quick_check')).toEqual({ quick_check: 'ok' });
  // The dead letter keeps its step: a replay must not run the tool again.
  expect([rowsOf(path, 'run'), rowsOf(path, 'step')]).toEqual([300, 1]);
  expect([rowsOf(copy, 'inbox'), rowsOf(copy, 'step')]).toEqual([300, 300]);
});

it('a new file gives freed pages back as well', async () => {
  await using dir = await tempDir();
  await (await openJournal({ dir: dir.path, clock: new FakeClock() }))[Symbol.asyncDispose]();
  expect(look(`${dir.path}/journal.db`, 'PRAGMA auto_vacuum')).toEqual({ auto_vacuum: 2 });
});

/** Where a database has it. https://www.sqlite.org/fileformat2.html */
const USER_VERSION = 60;
const CALLS = 'openat,write,pwrite64,ftruncate,fsync,fdatasync,link,linkat,rename,renameat,renameat2,unlink,unlinkat';

/**
 * Upgrades the file in a process of its own, which notes in `trace` what it asks of the files there. It ends
 * with status 7, unless it is killed: instead of the last call of `until`, which begins as the calls of an
 * upgrade that is not killed.
 */
async function upgradeApart(dir: string, trace: string, until: readonly string[] = []) {
  const path = join(dir, 'journal.db');
  const program = `
    const { Database } = await import('${new URL('./database.ts', import.meta.url).href}');
    const { migrate } = await import('${new URL('./schema.ts', import.meta.url).href}');
    migrate(new Database(${JSON.stringify(path)}, { busyMs: 0 }));
    process.exit(7);`;
  const ends = ['', '-journal', '-wal', '-shm', '.upgrade', '.upgrade-journal', '.v3.bak', '.v3.bak.partial'];
  const paths = [dir, ...ends.map((end) => `${path}${end}`)].flatMap((each) => ['-P', each]);
  // strace counts the calls of each name by themselves.
  const name = until.at(-1);
  const kill =
    name === undefined ? [] : ['-e', `inject=${name}:signal=SIGKILL:when=${until.filter((one) => one === name).length}`];
  const traced = ['-f', '-qq', '-o', trace, ...paths, '-e', `trace=${CALLS}`, ...kill];
  const { status, signal } = spawnSync('strace', [...traced, process.execPath, '--input-type=module', '-e', program]);
  const calls = [...(await readFile(trace, 'utf8')).matchAll(/^\d+ +(\w+)\(/gm)].map(([, name = '']) => name);
  return { status, signal, calls };
}

it('F47 killed at any moment, an upgrade is done again by the next start and no message is missing', {
  timeout: 600_000,
}, async (context) => {
  needs(context, 'strace', '-o', '/dev/null', 'true');
  await using made = await tempDir();
  await using notes = await tempDir();
  const trace = join(notes.path, 'trace');
  const old = await ofVersion3(made.path, 20);
  const file = await readFile(old);
  const { status, calls } = await upgradeApart(made.path, trace);
  expect([status, look(old, 'PRAGMA user_version')]).toEqual([7, { user_version: NEWEST }]);
  const every = byLoad(Math.ceil(calls.length / 15), 1);
  // From where files get other names, each call decides what a start finds.
  const renames = calls.indexOf('link');
  const points = calls.flatMap((_name, n) => (n % every === 0 || n >= renames ? [n + 1] : []));
  const left = new Set<unknown>();
  for (const n of points) {
    await using dir = await tempDir();
    const path = join(dir.path, 'journal.db');
    await writeFile(path, file, { mode: 0o600 });
    const until = calls.slice(0, n);
    expect(await upgradeApart(dir.path, trace, until)).toEqual({ status: null, signal: 'SIGKILL', calls: until });
    // From the file itself: SQLite would have to undo first what was being written.
    left.add((await readFile(path)).readUInt32BE(USER_VERSION));
    upgrade(path);
    expect([rowsOf(path, 'run'), rowsOf(`${path}.v3.bak`, 'inbox')]).toEqual([20, 20]);
    expect(look(path, 'PRAGMA quick_check')).toEqual({ quick_check: 'ok' });
    expect((await readdir(dir.path)).sort()).toEqual(['journal.db', 'journal.db.v3.bak']);
  }
  // Before the new file has its name, and after it.
  expect([...left]).toEqual([3, NEWEST]);
});

it('while another process has the file open nothing is changed (GH1301), and afterwards it goes on', async () => {
  await using dir = await tempDir();
  const path = await ofVersion3(dir.path, 20);
  {
    using other = new Database(path, { busyMs: 0 });
    other.get('SELECT count(*) FROM inbox');
    expect(() => upgrade(path, { aloneMs: 50 })).toThrow(
      expect.objectContaining({ code: 'GH1301', hint: expect.stringContaining('stop the other gatehouse') }),
    );
    other.exec("UPDATE inbox SET outcome = 'written meanwhile' WHERE seq = 1");
  }
  upgrade(path);
  expect(look(path, 'SELECT outcome FROM run WHERE seq = 1')).toEqual({ outcome: 'written meanwhile' });
});

it('a process that opened the file before its upgrade goes on with the new one', async () => {
  await using dir = await tempDir();
  const path = await ofVersion3(dir.path, 20);
  using late = new Database(path, { busyMs: 100 });
  upgrade(path);
  const told: unknown[] = [];
  migrate(late, MIGRATIONS, (about) => told.push(about));
  expect([schemaVersion(late), late.isReplaced, told]).toEqual([NEWEST, false, []]);
  late.exec("UPDATE run SET outcome = 'of the new file' WHERE seq = 1");
  expect(look(path, 'SELECT outcome FROM run WHERE seq = 1')).toEqual({ outcome: 'of the new file' });
  expect(look(`${path}.v3.bak`, 'SELECT outcome FROM inbox WHERE seq = 1')).toEqual({ outcome: 'x' });
});

it('three processes that start at the same moment end on the same upgraded file', async () => {
  await using dir = await tempDir();
  const path = await ofVersion3(dir.path, 500);
  const program = `
    const { openJournal } = await import('${new URL('./open.ts', import.meta.url).href}');
    const { systemClock: clock } = await import('${new URL('../lib/clock.ts', import.meta.url).href}');
    await using opened = await openJournal({ dir: ${JSON.stringify(dir.path)}, clock });
    await opened.journal.accept([], { channel: 'test', account: process.argv[1], value: 'here' });`;
  const starts = [0, 1, 2].map((n) =>
    once(spawn(process.execPath, ['--input-type=module', '-e', program, `process-${n}`], { stdio: 'inherit' }), 'exit'),
  );
  expect((await Promise.all(starts)).map(([code]) => code)).toEqual([0, 0, 0]);
  expect([rowsOf(path, 'run'), rowsOf(path, 'cursor')]).toEqual([500, 3]);
  expect(look(path, 'PRAGMA quick_check')).toEqual({ quick_check: 'ok' });
});

it('where a file cannot have a second name, the copy is made like the new file', async () => {
  await using dir = await tempDir();
  const path = await ofVersion3(dir.path, 20);
  upgrade(path, {
    link: () => {
      throw new Error('EPERM');
    },
  });
  expect([rowsOf(path, 'run'), rowsOf(`${path}.v3.bak`, 'inbox')]).toEqual([20, 20]);
});

it('rows that came to an end without a time get one, and are counted as before', async () => {
  await using dir = await tempDir();
  const path = await ofVersion3(dir.path, 20);
  {
    using db = new Database(path, { busyMs: 100 });
    migrate(db, MIGRATIONS.slice(0, 6));
    db.exec("UPDATE run SET finished_at = NULL; UPDATE run SET finished_at = 1 WHERE state = 'NEW'");
    db.exec("UPDATE outbox SET settled_at = NULL; UPDATE outbox SET settled_at = 1 WHERE state = 'PENDING'");
  }
  const tally = (table: string) =>
    look<object>(
      path,
      `SELECT json_group_object(state, n) AS found FROM
    (SELECT state, count(*) AS n FROM ${table} GROUP BY state)`,
    );
  const before = [tally('run'), tally('outbox')];
  upgrade(path);
  expect([tally('run'), tally('outbox')]).toEqual(before);
  const wrong = `SELECT (SELECT count(*) FROM run WHERE (state IN ('DONE', 'DEAD')) <> (finished_at IS NOT NULL))
    + (SELECT count(*) FROM outbox WHERE (state IN ('PENDING', 'SENDING')) = (settled_at IS NOT NULL)) AS count`;
  expect(look(path, wrong)).toEqual({ count: 0 });
});
