import type { EffectEntry } from '../core/effects.ts';
import type { Store } from './store.ts';

interface EffectRow {
  readonly key: string | null;
  readonly session: string | null;
  readonly principal: string | null;
  readonly call_id: string;
  readonly tool: string;
  readonly effect: EffectEntry['effect'];
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly allowed_by: string | null;
}

export function effectsSince({ db }: Store, since: number): readonly EffectEntry[] {
  const rows = db.all<EffectRow>(
    `SELECT run.key, run.session, run.principal, step.call_id, step.tool, effect, started_at, ended_at,
       coalesce(approval.given_by, wait.by) AS allowed_by
     FROM step LEFT JOIN run ON run.seq = step.run_seq
       LEFT JOIN wait ON wait.id = step.approved_by LEFT JOIN approval ON approval.id = step.approved_by
     WHERE (effect IN ('workspace', 'outside') OR step.approved_by IS NOT NULL) AND step.tool IS NOT NULL AND started_at >= ?
     ORDER BY started_at, run_seq, n`,
    since,
  );
  return rows.map(({ key, session, principal, tool, effect, ...row }) => ({
    ...(key === null ? {} : { run: key }),
    ...(session === null ? {} : { session }),
    ...(principal === null ? {} : { principal }),
    ...{ callId: row.call_id, tool, effect, startedAt: row.started_at },
    ...(row.allowed_by === null ? {} : { allowedBy: row.allowed_by }),
    ...(row.ended_at === null ? {} : { endedAt: row.ended_at }),
  }));
}
