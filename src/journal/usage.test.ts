import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { usage } from '../testing/journal-rows.ts';
import { createPrivateFile, Database } from './database.ts';
import { openJournal } from './open.ts';
import { MIGRATIONS, migrate, schemaVersion } from './schema.ts';

const clock = new FakeClock();

it('F47 a journal of version 1 keeps its ledger: costs become unknown, sums go on, the copy is of version 1', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'journal.db');
  await createPrivateFile(path);
  {
    using old = new Database(path, { busyMs: 0 });
    migrate(old, MIGRATIONS.slice(0, 1));
    for (let n = 0; n < 500; n += 1) {
      old.run(
        `INSERT INTO usage (id, at, provider, model, tokens_in, tokens_out, tokens_cached, session, channel, sender, purpose)
         VALUES (?, ?, 'p', 'm', 10, 5, 1, 's', 'test', 'user-1', 'turn')`,
        `old-${n}`,
        n,
      );
    }
    expect(schemaVersion(old)).toBe(1);
  }
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  await journal.spend({ ...usage('new', 1_000), costUsd: 0.25, job: 'j' });
  const rows = await journal.usage(0);
  expect(rows).toHaveLength(501);
  expect(rows[7]).toEqual({ ...usage('old-7', 7), session: 's', purpose: 'turn', costUsd: null });
  expect(rows.at(-1)).toMatchObject({ id: 'new', costUsd: 0.25, job: 'j' });
  expect(await journal.spending({ since: 0, by: 'model' })).toEqual([
    {
      ...{ key: 'p/m', calls: 501, tokensIn: 5_010, tokensOut: 2_505, tokensCached: 501, tokensCacheWrite: 0 },
      ...{ costUsd: 0.25, unpriced: 500 },
    },
  ]);
  using copy = new Database(`${path}.v1.bak`, { busyMs: 0 });
  expect(schemaVersion(copy)).toBe(1);
  expect(copy.get('SELECT count(*) AS count FROM usage')).toEqual({ count: 500 });
});

it('F47 a journal of version 3 opens, and every sum of its ledger is as before', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'journal.db');
  await createPrivateFile(path);
  const before = new Map<string, unknown>();
  {
    using old = new Database(path, { busyMs: 0 });
    migrate(old, MIGRATIONS.slice(0, 3));
    for (let n = 0; n < 600; n += 1) {
      old.run(
        'INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
        ...[`old-${n}`, 1_780_000_000_000 + n * 1_234_567, `p${n % 2}`, `m${n % 3}`, 10 + n, 5, n % 4],
        ...[`s${n % 7}`, 'test', `user-${n % 5}`, 'turn', n % 6 === 0 ? null : n / 128, n % 9 === 0 ? 'job-1' : null],
      );
    }
    const keys = { provider: 'provider', model: "provider || '/' || model", session: 'session', sender: 'sender', job: 'job' };
    for (const [by, key] of Object.entries({ ...keys, day: "strftime('%Y-%m-%d', at / 1000, 'unixepoch', 'localtime')" })) {
      // The query of version 3.
      const sql = `SELECT ${key} AS key, count(*) AS calls, sum(tokens_in) AS tokensIn, sum(tokens_out) AS tokensOut,
        sum(tokens_cached) AS tokensCached, 0 AS tokensCacheWrite, total(cost_usd) AS costUsd, count(*) - count(cost_usd) AS unpriced
        FROM usage WHERE ${key} IS NOT NULL GROUP BY 1 ORDER BY 1`;
      before.set(
        by,
        old.all(sql).map((row) => ({ ...(row as object) })),
      );
    }
  }
  await using opened = await openJournal({ dir: dir.path, clock });
  expect(before.size).toBe(6);
  for (const [by, groups] of before) expect(await opened.journal.spending({ since: 0, by: by as 'day' })).toEqual(groups);
  expect(await opened.journal.usage(0)).toHaveLength(600);
  using copy = new Database(`${path}.v3.bak`, { busyMs: 0 });
  expect([schemaVersion(copy), copy.get('SELECT count(*) AS count FROM usage')]).toEqual([3, { count: 600 }]);
});

it('days are those of TZ, also over a change of summer time and when the zone is another one than that of the writer', async () => {
  await using dir = await tempDir();
  {
    await using opened = await openJournal({ dir: dir.path, clock });
    // Berlin, 29 March 2026: a day of 23 hours, from 23:00 UTC of the 28th to 22:00 UTC of the 29th.
    const [first, last] = [Date.UTC(2026, 2, 28, 23), Date.UTC(2026, 2, 29, 22)];
    for (const at of [first - 1, first, last - 1, last]) await opened.journal.spend(usage(`u${at}`, at));
  }
  const script = `
    const { openJournal } = await import(${JSON.stringify(join(import.meta.dirname, 'open.ts'))});
    const { systemClock } = await import(${JSON.stringify(join(import.meta.dirname, '../lib/clock.ts'))});
    await using opened = await openJournal({ dir: process.argv[1], clock: systemClock });
    const days = await opened.journal.spending({ since: 0, by: 'day' });
    console.log(JSON.stringify(days.map(({ key, calls }) => [key, calls])));`;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script, dir.path], {
    env: { ...process.env, TZ: 'Europe/Berlin' },
  });
  expect(JSON.parse(stdout)).toEqual([
    ['2026-03-28', 1],
    ['2026-03-29', 2],
    ['2026-03-30', 1],
  ]);
});

it('hostile: counts too large for a number keep nothing from reading what was spent', async () => {
  await using dir = await tempDir();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const huge = { tokensIn: Number.MAX_SAFE_INTEGER, tokensOut: 1 };
  // Enough for the first of them to be added up by the quarter hour.
  for (let n = 0; n < 400; n += 1)
    await journal.spend({ ...usage(`u${n}`, clock.now() + (n < 2 ? 0 : 2_000_000)), ...(n < 2 ? huge : {}) });
  for (const by of ['model', 'session', 'sender', 'job', 'day'] as const) {
    const groups = await journal.spending({ since: 0, by });
    const sum = groups.reduce((all, { tokensIn }) => all + tokensIn, 0);
    if (by !== 'job') expect(sum, by).toBeGreaterThan(2 ** 54 - 10);
  }
});
