import type { UsageEntry } from '../core/ledger.ts';
import type { StepRecord } from '../core/step.ts';
import type { Effect } from '../core/tool.ts';
import { claimedSession } from './runs.ts';
import { readJson, type Store } from './store.ts';
import { addUsage } from './usage.ts';

interface StepRow {
  readonly n: number;
  readonly kind: StepRecord['kind'];
  readonly call_id: string;
  readonly state: 'STARTED' | 'DONE';
  readonly args_hash: string | null;
  readonly value: string | null;
  readonly tool: string | null;
  readonly effect: Effect | null;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly taint: number;
  readonly approved_by: string | null;
}

export function recordedSteps(store: Store, seq: number): readonly StepRecord[] {
  const sql = `SELECT n, kind, call_id, state, args_hash, value, tool, effect, started_at, ended_at, taint, approved_by
    FROM step WHERE run_seq = ? ORDER BY n, rowid`;
  return store.db.all<StepRow>(sql, seq).map((row) => ({
    n: row.n,
    kind: row.kind,
    state: row.state,
    ...(row.call_id === '' ? {} : { callId: row.call_id }),
    ...(row.args_hash === null ? {} : { argsHash: row.args_hash }),
    ...(row.value === null ? {} : { value: readJson(row.value, `a step of run ${seq}`) }),
    ...(row.tool === null ? {} : { tool: row.tool }),
    ...(row.effect === null ? {} : { effect: row.effect }),
    ...(row.started_at === null ? {} : { startedAt: row.started_at }),
    ...(row.ended_at === null ? {} : { endedAt: row.ended_at }),
    ...(row.taint === 0 ? {} : { taint: row.taint }),
    ...(row.approved_by === null ? {} : { approvedBy: row.approved_by }),
  }));
}

/**
 * Commits 2 and 3. DONE takes the place of STARTED (same n, kind and call); STARTED never takes the place of
 * DONE, because that would forget a tool's effect. `false` = fenced, neither step nor usage was written.
 */
export function recordStep(store: Store, seq: number, generation: number, step: StepRecord, usage?: UsageEntry): boolean {
  if (claimedSession(store, seq, generation) === undefined) return false;
  store.db.run(
    `INSERT INTO step (run_seq, n, kind, call_id, state, args_hash, value, tool, effect, started_at, ended_at, taint, approved_by)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET state = excluded.state, args_hash = coalesce(excluded.args_hash, args_hash), value = excluded.value,
       tool = coalesce(excluded.tool, tool), effect = coalesce(excluded.effect, effect),
       started_at = coalesce(excluded.started_at, started_at), ended_at = excluded.ended_at, taint = step.taint | excluded.taint,
       approved_by = coalesce(excluded.approved_by, approved_by)
     WHERE NOT (step.state = 'DONE' AND excluded.state = 'STARTED')`,
    seq,
    step.n,
    step.kind,
    step.callId ?? '',
    step.state,
    step.argsHash ?? null,
    step.value === undefined ? null : JSON.stringify(step.value),
    step.tool ?? null,
    step.effect ?? null,
    step.startedAt ?? null,
    step.endedAt ?? null,
    step.taint ?? 0,
    step.approvedBy ?? null,
  );
  if (step.progress !== undefined) store.db.run('UPDATE run SET progress = ? WHERE seq = ?', step.progress, seq);
  if (usage) addUsage(store, usage);
  return true;
}
