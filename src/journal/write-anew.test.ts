import { expect, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { Database } from './database.ts';
import { writeAnew } from './write-anew.ts';

const MIB = 1024 * 1024;

test('a journal is written anew with little memory, also where its connection keeps temporary tables there', async () => {
  await using dir = await tempDir();
  using db = new Database(`${dir.path}/journal.db`, { busyMs: 0 });
  db.exec('PRAGMA journal_mode = WAL; PRAGMA temp_store = MEMORY; CREATE TEMP TABLE load (n); INSERT INTO load VALUES (1)');
  db.exec('CREATE TABLE t (n INTEGER PRIMARY KEY, word TEXT)');
  db.exec(`WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 60000)
    INSERT INTO t SELECT n, hex(randomblob(300)) FROM c`);
  db.exec('DELETE FROM t WHERE n % 2 = 0');
  const pages = () => db.get<{ page_count: number }>('PRAGMA page_count')?.page_count ?? 0;
  const [before, highest] = [pages(), process.resourceUsage().maxRSS];
  writeAnew(db);
  expect(pages()).toBeLessThan(before * 0.6);
  expect(db.get('SELECT count(*) AS n FROM t')).toEqual({ n: 30_000 });
  expect(db.get('SELECT n FROM load')).toEqual({ n: 1 });
  // In memory the copy alone would be 20 MB.
  expect((process.resourceUsage().maxRSS - highest) / 1024).toBeLessThan(12);
  expect(before * 4096).toBeGreaterThan(30 * MIB);
});
