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
}

export function effectsSince({ db }: Store, since: number): readonly EffectEntry[] {
  const rows = db.all<EffectRow>(
    `SELECT run.key, run.session, run.principal, call_id, tool, effect, started_at, ended_at
     FROM step LEFT JOIN run ON run.seq = step.run_seq
     WHERE effect IN ('workspace', 'outside') AND tool IS NOT NULL AND started_at >= ? ORDER BY started_at, run_seq, n`,
    since,
  );
  return rows.map(({ key, session, principal, tool, effect, ...row }) => ({
    ...(key === null ? {} : { run: key }),
    ...(session === null ? {} : { session }),
    ...(principal === null ? {} : { principal }),
    ...{ callId: row.call_id, tool, effect, startedAt: row.started_at },
    ...(row.ended_at === null ? {} : { endedAt: row.ended_at }),
  }));
}
