/** Rows of `process`: see `core/process.ts`. */
import type { Write } from '../core/commit.ts';
import type { ProcessRow } from '../core/process.ts';
import type { Store } from './store.ts';

interface ProcessRecord {
  readonly id: string;
  readonly run: string | null;
  readonly call_id: string | null;
  readonly pgid: number;
  readonly started: string;
  readonly program: string;
}

export function writeProcess({ db, clock, bootId }: Store, { process }: Extract<Write, { readonly kind: 'process' }>): void {
  if ('gone' in process) {
    db.run('DELETE FROM process WHERE id = ?', process.gone);
    return;
  }
  const { id, owner, pgid, started, program } = process;
  db.run(
    'INSERT INTO process (id, run, call_id, pgid, started, program, boot_id, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ...[id, owner?.run ?? null, owner?.callId ?? null, pgid, started, program, bootId, clock.now()],
  );
}

/** The table holds what runs now and what a crash left: it is read as a whole. */
export function leftProcesses({ db, bootId }: Store): readonly ProcessRow[] {
  const sql = 'SELECT id, run, call_id, pgid, started, program FROM process WHERE boot_id <> ? ORDER BY at, id';
  return db.all<ProcessRecord>(sql, bootId).map(({ run, call_id: callId, ...row }) => ({
    ...row,
    ...(run === null || callId === null ? {} : { owner: { run, callId } }),
  }));
}
