/** Steps of kind note: what a run is told, or beside which others ran, while it is under way. */
import type { Json } from '../core/message.ts';
import { STEERED } from '../core/queueing.ts';
import type { Change } from './commit-queue.ts';
import { readJson, type Store } from './store.ts';

export interface Note {
  readonly n: number;
  /** Key of the message. */
  readonly callId: string;
  readonly value: Readonly<Record<string, Json>>;
}

export function addNote(store: Store, run: number, note: Pick<Note, 'callId' | 'value'> & { readonly taint?: number }): void {
  const now = store.clock.now();
  store.db.run(
    `INSERT INTO step (run_seq, n, kind, call_id, state, value, taint, started_at)
     SELECT ?, coalesce(max(n), -1) + 1, 'note', ?, 'STARTED', ?, ?, ? FROM step WHERE run_seq = ? AND kind = 'note'`,
    ...[run, note.callId, JSON.stringify(note.value), note.taint ?? 0, now, run],
  );
}

/** In the order they were said. */
export function notesOf({ db }: Store, run: number): readonly Note[] {
  return db
    .all<{ n: number; call_id: string; value: string }>(
      "SELECT n, call_id, value FROM step WHERE run_seq = ? AND kind = 'note' ORDER BY n",
      run,
    )
    .map(({ n, call_id: callId, value }) => ({ n, callId, value: readJson(value, `a note of run ${run}`) as Note['value'] }));
}

/** Of a row whose words another run took up: its author neither took them back nor corrected them since. */
export const AS_SAID = `input ->> '$.isTakenBack' IS NULL
  AND NOT EXISTS (SELECT 1 FROM run AS newer WHERE newer.corrects = run.key AND newer.outcome IS NOT 'deleted')`;

/**
 * The run ends, or waits: what it was told and has not seen becomes a row of its own again, so that it is
 * answered. `seen`: how many notes it had read; absent = those that a recorded answer had seen.
 */
export function reopenNotes(
  store: Store,
  run: { readonly seq: number; readonly key: string },
  seen: number | undefined,
  change: Change,
): void {
  const told = notesOf(store, run.seq).filter(({ value }) => value['text'] !== undefined);
  if (told.length === 0) return;
  for (const { n, callId } of told.slice(seen ?? seenBy(store, run.seq))) {
    store.db.run("DELETE FROM step WHERE run_seq = ? AND n = ? AND kind = 'note' AND call_id = ?", run.seq, n, callId);
    const row = store.db.get<{ lane: string }>(
      `UPDATE run SET state = 'NEW', outcome = NULL, finished_at = NULL
       WHERE key = ? AND state = 'DONE' AND outcome = ? AND ${AS_SAID} RETURNING lane`,
      ...[callId, `${STEERED}${run.key}`],
    );
    if (!row) continue;
    change.active += 1;
    change.woken.add(row.lane);
  }
}

function seenBy({ db }: Store, run: number): number {
  const sql = "SELECT max(value ->> '$.notes') AS seen FROM step WHERE run_seq = ? AND kind = 'model'";
  return db.get<{ seen: number | null }>(sql, run)?.seen ?? 0;
}
