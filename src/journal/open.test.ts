import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { isGatehouseError } from '../core/errors.ts';
import { FakeClock, tempDir, until } from '../testing/fakes.ts';
import { admit, LANE, message, part } from '../testing/journal-rows.ts';
import { ofVersion3 } from '../testing/old-journal.ts';
import { createPrivateFile, Database } from './database.ts';
import { openJournal } from './open.ts';
import { MIGRATIONS, migrate, schemaVersion } from './schema.ts';

const clock = new FakeClock();

async function digest(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}

/** A journal of some hundred pages, closed, so that everything is in the one file. */
async function filled(dir: string): Promise<string> {
  await using opened = await openJournal({ dir, clock });
  const batch = Array.from({ length: 400 }, (_, n) => admit(message(n, { text: 'x'.repeat(1_000) }), `lane-${n % 7}`));
  await opened.journal.accept(batch);
  await opened.journal.enqueue(Array.from({ length: 200 }, (_, n) => part(`p${n}`)));
  return join(dir, 'journal.db');
}

it('the directory and every file in it belong to the owner alone', async () => {
  await using dir = await tempDir();
  const data = join(dir.path, 'data');
  await using opened = await openJournal({ dir: data, clock });
  await opened.journal.accept([admit(message(1))]);
  expect((await stat(data)).mode & 0o777).toBe(0o700);
  const files = await readdir(data);
  expect(files.sort()).toEqual(['journal.db', 'journal.db-shm', 'journal.db-wal']);
  for (const file of files) expect((await stat(join(data, file))).mode & 0o777).toBe(0o600);
});

it('disposing commits what was asked for, is safe twice, and later writes reject', async () => {
  await using dir = await tempDir();
  const opened = await openJournal({ dir: dir.path, clock });
  const accepting = opened.journal.accept([admit(message(1))]);
  await opened[Symbol.asyncDispose]();
  await opened.journal[Symbol.asyncDispose]();
  expect((await accepting)[0]?.kind).toBe('new');
  await expect(opened.journal.accept([admit(message(2))])).rejects.toMatchObject({ code: 'GH1301' });
  await expect(opened.journal.counts()).rejects.toMatchObject({ code: 'GH1301' });
  expect(await readdir(dir.path)).toEqual(['journal.db']);
  await using again = await openJournal({ dir: dir.path, clock });
  expect((await again.journal.counts()).inbox.NEW).toBe(1);
});

it('two processes may make the file at the same moment', async () => {
  await using dir = await tempDir();
  const both = await Promise.all([openJournal({ dir: dir.path, clock }), openJournal({ dir: dir.path, clock })]);
  for (const { journal } of both) await journal.accept([admit(message(journal.bootId))]);
  expect((await both[0]?.journal.counts())?.inbox.NEW).toBe(2);
  for (const opened of both) await opened[Symbol.asyncDispose]();
});

it('a commit of another process is noticed, changes room, and our own commits wake nobody', async () => {
  await using dir = await tempDir();
  await using daemon = await openJournal({ dir: dir.path, clock, highWater: 10, pollMs: 5 });
  let changes = 0;
  daemon.journal.onOutsideChange(() => {
    changes += 1;
  });
  await using cli = await openJournal({ dir: dir.path, clock });
  // Opening it is a commit, too.
  await new Promise((resolve) => setTimeout(resolve, 30));
  const before = changes;
  await daemon.journal.accept([admit(message(1))]);
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(changes).toBe(before);
  await cli.journal.accept([admit(message(2))]);
  await until('the change was noticed', () => changes > before);
  expect(daemon.journal.room()).toBe(8);
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(changes).toBe(before + 1);
});

it('F19 a file with random pages overwritten is refused with a hint, or else read without harm; never changed', async () => {
  await using dir = await tempDir();
  const source = await readFile(await filled(join(dir.path, 'source')));
  const pages = source.length / 4096;
  let refused = 0;
  for (let round = 0; round < 25; round += 1) {
    const data = join(dir.path, `round-${round}`);
    await mkdir(data);
    const path = join(data, 'journal.db');
    const damaged = Buffer.from(source);
    // Page 1 in the first round, then three others at a time.
    const victims = round === 0 ? [0] : [1, 2, 3].map((salt) => (round * 31 + salt * 47) % pages);
    for (const page of victims) randomBytes(4096).copy(damaged, page * 4096);
    await writeFile(path, damaged);
    const before = await digest(path);
    try {
      await using opened = await openJournal({ dir: data, clock });
      await opened.journal.counts();
    } catch (error) {
      refused += 1;
      if (!isGatehouseError(error)) throw error;
      expect(error.code).toBe('GH1302');
      expect(error.message).toContain(path);
      expect(error.hint).toContain('backup');
      expect(await digest(path)).toBe(before);
    }
  }
  expect(refused).toBe(25);
});

it('F19 a file cut short, or one that is no database, is refused and left as it was', async () => {
  await using dir = await tempDir();
  const source = await readFile(await filled(join(dir.path, 'source')));
  for (const [n, bytes] of [source.subarray(0, source.length / 2), Buffer.from('hello'), Buffer.alloc(8192)].entries()) {
    const data = join(dir.path, `case-${n}`);
    await mkdir(data);
    const path = join(data, 'journal.db');
    await writeFile(path, bytes);
    await expect(openJournal({ dir: data, clock })).rejects.toMatchObject({ code: 'GH1302' });
    expect((await readFile(path)).equals(bytes)).toBe(true);
  }
});

it('F19 damage met while running is fatal once, and every later write rejects', async () => {
  await using dir = await tempDir();
  const path = await filled(dir.path);
  const fatal: string[] = [];
  await using opened = await openJournal({ dir: dir.path, clock, onFatal: (error) => fatal.push(error.code) });
  const bytes = await readFile(path);
  // From the second page on: the connection has read the first already.
  await writeFile(path, Buffer.concat([bytes.subarray(0, 4096), randomBytes(bytes.length - 4096)]));
  const write = () => opened.journal.accept([admit(message('after', { text: 'y'.repeat(10_000) }))]);
  await expect(write()).rejects.toMatchObject({ code: 'GH1302' });
  await expect(write()).rejects.toMatchObject({ code: 'GH1302' });
  // A look at what memory does not hold.
  await expect(opened.journal.record.of('message')).rejects.toMatchObject({ code: 'GH1302' });
  expect(fatal).toEqual(['GH1302']);
});

it('F47 a journal of a newer version is refused and not one byte of it changes', async () => {
  await using dir = await tempDir();
  const path = await filled(dir.path);
  {
    using db = new Database(path, { busyMs: 0 });
    db.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
  }
  const before = await digest(path);
  await expect(openJournal({ dir: dir.path, clock })).rejects.toMatchObject({
    code: 'GH1303',
    message: expect.stringContaining(`version ${MIGRATIONS.length + 1}`),
  });
  expect(await digest(path)).toBe(before);
});

it('F47 an older journal is copied, then brought up to date; a migration that fails changes nothing', async () => {
  await using dir = await tempDir();
  const path = await filled(dir.path);
  using db = new Database(path, { busyMs: 0 });
  const next = [...MIGRATIONS, 'CREATE TABLE novelty (a)'];
  expect(() => migrate(db, [...next, 'CREATE TABLE run (twice)'])).toThrow();
  expect(schemaVersion(db)).toBe(MIGRATIONS.length);
  expect(db.get("SELECT 1 FROM sqlite_schema WHERE name = 'novelty'")).toBeUndefined();
});

it('F47 the copy made before a migration is a whole journal of the old version', async () => {
  await using dir = await tempDir();
  const path = await filled(dir.path);
  using db = new Database(path, { busyMs: 0 });
  migrate(db, [...MIGRATIONS, 'CREATE TABLE novelty (a)']);
  expect(schemaVersion(db)).toBe(MIGRATIONS.length + 1);
  using copy = new Database(`${path}.v${MIGRATIONS.length}.bak`, { busyMs: 0 });
  expect(schemaVersion(copy)).toBe(MIGRATIONS.length);
  expect(copy.get('SELECT count(*) AS count FROM run')).toEqual({ count: 400 });
});

it('F47 the command of docs/upgrade.md goes back to the version before', async () => {
  await using dir = await tempDir();
  const path = await ofVersion3(dir.path, 400);
  await (await openJournal({ dir: dir.path, clock }))[Symbol.asyncDispose]();
  await writeFile(path, 'what the newer version left');
  const text = await readFile(join(import.meta.dirname, '../../docs/upgrade.md'), 'utf8');
  const [, command = ''] = /```sh\n(.+)\n```/.exec(text) ?? [];
  await promisify(execFile)('sh', ['-c', command], { cwd: dir.path });
  using back = new Database(path, { busyMs: 0 });
  expect([schemaVersion(back), back.get('SELECT count(*) AS count FROM inbox')]).toEqual([3, { count: 400 }]);
});

it("F47 an upgrade that was killed, while it copied or afterwards, is done again, and the copy is the owner's alone", async () => {
  await using dir = await tempDir();
  const path = await filled(dir.path);
  const copy = `${path}.v${MIGRATIONS.length}.bak`;
  for (const left of [copy, `${copy}.partial`]) await writeFile(left, (await readFile(path)).subarray(0, 5_000), { mode: 0o644 });
  using db = new Database(path, { busyMs: 0 });
  const told: unknown[] = [];
  migrate(db, [...MIGRATIONS, 'CREATE TABLE novelty (a)'], (about) => told.push(about));
  expect(told).toEqual([{ from: MIGRATIONS.length, to: MIGRATIONS.length + 1, copy }]);
  using whole = new Database(copy, { busyMs: 0 });
  expect([schemaVersion(db), schemaVersion(whole)]).toEqual([MIGRATIONS.length + 1, MIGRATIONS.length]);
  expect(whole.get('SELECT count(*) AS count FROM run')).toEqual({ count: 400 });
  expect((await stat(copy)).mode & 0o777).toBe(0o600);
  expect((await readdir(dir.path)).filter((name) => name.endsWith('.partial'))).toEqual([]);
});

it('F47 a copy that cannot be made leaves the journal and an earlier copy as they were, and no half one', async () => {
  await using dir = await tempDir();
  const path = await filled(dir.path);
  const copy = `${path}.v${MIGRATIONS.length}.bak`;
  await mkdir(join(copy, 'taken'), { recursive: true });
  using db = new Database(path, { busyMs: 0 });
  expect(() => migrate(db, [...MIGRATIONS, 'CREATE TABLE novelty (a)'])).toThrow();
  expect(schemaVersion(db)).toBe(MIGRATIONS.length);
  expect((await readdir(dir.path)).filter((name) => name.endsWith('.partial'))).toEqual([]);
  expect(await readdir(copy)).toEqual(['taken']);
});

it('F47 parts that a version without doubts had tried stay in doubt since they were made; the others are not', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'journal.db');
  await createPrivateFile(path);
  {
    using db = new Database(path, { busyMs: 0 });
    migrate(db, MIGRATIONS.slice(0, 2));
    const states = { tried: ['PENDING', 1], killed: ['SENDING', 1], new: ['PENDING', 0], sent: ['SENT', 1] } as const;
    for (const [key, [state, attempts]] of Object.entries(states)) {
      db.run(
        'INSERT INTO outbox (key, lane, part, state, attempts, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
        ...[key, LANE, JSON.stringify(part(key).part), state, attempts, clock.now(), clock.now() + 1_000],
      );
    }
  }
  await using opened = await openJournal({ dir: dir.path, clock });
  const rows = await Promise.all(['tried', 'killed', 'new', 'sent'].map((key) => opened.journal.part(key)));
  expect(rows.map((row) => [row?.state, row?.doubtSince])).toEqual([
    ['PENDING', clock.now()],
    ['SENDING', clock.now()],
    ['PENDING', undefined],
    ['SENT', undefined],
  ]);
});

it('a database of another program is refused and not touched', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'journal.db');
  {
    using db = new Database(path, { busyMs: 0 });
    db.exec('CREATE TABLE bookmarks (url TEXT)');
  }
  await expect(openJournal({ dir: dir.path, clock })).rejects.toMatchObject({
    code: 'GH1302',
    message: expect.stringContaining('"bookmarks"'),
  });
});

it('F16 a directory that cannot hold the file is refused in one line', async () => {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'file'), '');
  await expect(openJournal({ dir: join(dir.path, 'file'), clock })).rejects.toMatchObject({ code: 'GH1202' });
});
