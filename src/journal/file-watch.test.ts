import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FakeClock, tempDir, until } from '../testing/fakes.ts';
import { admit, message } from '../testing/journal-rows.ts';
import { Database } from './database.ts';
import type { FileState } from './file-check.ts';
import { type JournalOptions, openJournal } from './open.ts';

const clock = new FakeClock();

/**
 * A journal whose process was killed: what it wrote is there, and no note says that it is no longer in use.
 */
async function leftInUse(dir: string): Promise<string> {
  const path = join(dir, 'journal.db');
  {
    await using opened = await openJournal({ dir, clock });
    await opened.journal.accept(Array.from({ length: 400 }, (_, n) => admit(message(n, { text: 'x'.repeat(1_000) }))));
  }
  using db = new Database(path, { busyMs: 0 });
  db.run("INSERT INTO meta (name, value) VALUES ('in_use', 'killed')");
  // What waits is counted at the start, and would meet the damage there.
  db.run("UPDATE run SET state = 'DONE', outcome = 'answered', finished_at = ?", clock.now());
  return path;
}

/** An opening for which every file is a large one. */
function open(dir: string, told: string[], options: Partial<JournalOptions> = {}) {
  const onChecked = ({ kind }: FileState) => told.push(kind);
  return openJournal({ dir, clock, checkFirstBytes: 0, onChecked, onFatal: ({ code }) => told.push(code), ...options });
}

/** The process that checks begins a minute late: what does not wait for it is done before. */
async function withSlowCheck<T>(run: () => Promise<T>): Promise<T> {
  const before = process.env['NODE_OPTIONS'];
  const late = encodeURIComponent('await new Promise((resolve) => setTimeout(resolve, 60_000));');
  process.env['NODE_OPTIONS'] = `--import data:text/javascript,${late}`;
  try {
    return await run();
  } finally {
    if (before === undefined) delete process.env['NODE_OPTIONS'];
    else process.env['NODE_OPTIONS'] = before;
  }
}

/** A page in the middle of the messages. */
async function damage(path: string): Promise<void> {
  const bytes = await readFile(path);
  randomBytes(4096).copy(bytes, Math.floor(bytes.length / 4096 / 2) * 4096);
  await writeFile(path, bytes);
}

it('after an end in order a large file is not checked', async () => {
  await using dir = await tempDir();
  const told: string[] = [];
  const path = await leftInUse(dir.path);
  await (await openJournal({ dir: dir.path, clock }))[Symbol.asyncDispose](); // it is small, so it was checked at once
  await damage(path);
  {
    await using opened = await open(dir.path, told);
    await opened.journal.accept([admit(message('later'))]);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await using _again = await open(dir.path, told);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(told).toEqual([]);
});

it('F19 after a kill a large file is checked beside the work, and damage that nobody met yet is fatal (GH1302)', async () => {
  await using dir = await tempDir();
  const told: string[] = [];
  await damage(await leftInUse(dir.path));
  {
    await using opened = await open(dir.path, told);
    expect((await opened.journal.accept([admit(message('meanwhile'))]))[0]?.kind).toBe('new');
    await until('the check ended', () => told.length > 1);
    expect(told).toEqual(['damaged', 'GH1302']);
    await expect(opened.journal.accept([admit(message('after'))])).rejects.toMatchObject({ code: 'GH1302' });
  }
  // It is not forgotten by an end in order.
  await using _again = await open(dir.path, told);
  await until('the check ended again', () => told.length > 3);
  expect(told.slice(2)).toEqual(['damaged', 'GH1302']);
}, 150_000);

it('after a kill a sound file is checked once', async () => {
  await using dir = await tempDir();
  const told: string[] = [];
  await leftInUse(dir.path);
  {
    await using _opened = await open(dir.path, told);
    await until('the check ended', () => told.length > 0);
  }
  await using _again = await open(dir.path, told);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(told).toEqual(['sound']);
});

it('an end before the check has ended does not wait for it, and the next start checks', async () => {
  await using dir = await tempDir();
  const told: string[] = [];
  await leftInUse(dir.path);
  const opened = await withSlowCheck(() => open(dir.path, told));
  await opened.journal.accept([admit(message('meanwhile'))]);
  await opened[Symbol.asyncDispose]();
  expect(told).toEqual([]);
  await using _again = await open(dir.path, told);
  await until('the check ended', () => told.length > 0);
  expect(told).toEqual(['sound']);
});

it('commands check nothing, and leave the note as they find it', async () => {
  await using dir = await tempDir();
  const told: string[] = [];
  const path = await leftInUse(dir.path);
  await damage(path);
  {
    await using command = await open(dir.path, told, { checks: false, checkFirstBytes: 1e9 });
    await command.journal.accept([admit(message('by a command'))]);
  }
  using db = new Database(path, { readOnly: true, busyMs: 0 });
  expect(db.get("SELECT value FROM meta WHERE name = 'in_use'")).toMatchObject({ value: 'killed' });
  expect(told).toEqual([]);
});
