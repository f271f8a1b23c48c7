import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { Database } from './database.ts';
import { OutsideChanges } from './outside-changes.ts';

test('news that memory cannot take in rejects nothing, and is told with the next look', async () => {
  await using dir = await tempDir();
  const path = join(dir.path, 'x.db');
  using other = new Database(path, { busyMs: 0 });
  other.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER)');
  using db = new Database(path, { busyMs: 0 });
  let left = 1;
  const refresh = (): void => {
    left -= 1;
    if (left === 0) throw new Error('disk I/O error');
  };
  using outside = new OutsideChanges({ db, pollMs: 60_000, refresh, read: async (run) => run() });
  let told = 0;
  outside.listen(() => {
    told += 1;
  });
  other.run('INSERT INTO t VALUES (1)');
  await outside.poll();
  expect(told).toBe(0);
  await outside.poll();
  await outside.poll();
  expect(told).toBe(1);
});
