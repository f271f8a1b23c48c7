import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import { Database } from './database.ts';

/** For a lock of another process. It blocks the event loop meanwhile. ms. */
const BUSY_MS = 1_000;
/** The new file is made in a file of its own, which may lie on the same disk, and goes through the log. */
const COPIES = 2;
const MIB = 1024 * 1024;

/**
 * Writes every page of the journal anew: `secure_delete` clears what is deleted, and leaves behind what
 * SQLite moved from one page to another. Blocks the event loop, about a second for 200 MB. Uses a connection
 * of its own: that of the journal keeps what is temporary in memory, where the whole file would not fit.
 * Rejects with GH1301 where there is no room for two copies, before anything is written, and as a write does.
 */
export function writeAnew(db: Database): void {
  const directory = dirname(db.path);
  const size =
    (db.get<{ bytes: number }>('SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size')?.bytes ?? 0) *
    COPIES;
  const { bavail, bsize } = statfsSync(directory);
  if (bavail * bsize < size)
    throw new GatehouseError('GH1301', `there is no room to write the journal anew: it takes ${Math.ceil(size / MIB)} MB`, {
      hint: 'make room on the disk of the data directory; it is tried again',
    });
  using own = new Database(db.path, { busyMs: BUSY_MS });
  own.exec('PRAGMA synchronous = FULL; VACUUM');
}
