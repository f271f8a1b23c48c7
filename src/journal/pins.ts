/** Rows of `pin`: see `core/pin.ts`. */
import type { Pin, Pins, PinWrite } from '../core/pin.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { Store } from './store.ts';

export function writePin({ db, clock }: Store, write: PinWrite): void {
  if ('gone' in write) {
    db.run('DELETE FROM pin WHERE kind = ? AND name = ?', write.gone.kind, write.gone.name);
    return;
  }
  const { kind, name, digest, by } = write.pin;
  db.run(
    'INSERT OR REPLACE INTO pin (kind, name, digest, approved_by, at) VALUES (?, ?, ?, ?, ?)',
    ...[kind, name, digest, by, clock.now()],
  );
}

/** For `OpenedJournal.pins`. */
export function pinsOf(store: Store, queue: CommitQueue): Pins {
  const sql =
    'SELECT kind, name, digest, approved_by AS by, at FROM pin WHERE kind = ? AND approved_by IS NOT NULL ORDER BY name';
  return { of: (kind) => queue.read(() => store.db.all<Pin>(sql, kind)) };
}
