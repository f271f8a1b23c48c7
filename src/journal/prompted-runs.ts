/** Runs that no message began, as their callers see them. */
import type { OwnCall, PromptedRun } from '../core/prompted-run.ts';
import type { RunState } from '../core/run.ts';
import type { ToolResult } from '../core/tool.ts';
import type { Change } from './commit-queue.ts';
import { writeEvent } from './record.ts';
import { addRun } from './runs.ts';
import { readJson, type Store } from './store.ts';

interface PromptedRecord {
  readonly seq: number;
  readonly state: RunState;
  readonly text: string;
  readonly label: string | null;
  readonly outcome: string | null;
  readonly result: string | null;
}

const NEWEST = `SELECT seq, state, input ->> '$.text' AS text, input ->> '$.child.label' AS label, outcome, result FROM run
  WHERE key = ? AND source <> 'chat' ORDER BY seq DESC LIMIT 1`;

export function promptedRun(store: Store, key: string): PromptedRun | undefined {
  const record = store.db.get<PromptedRecord>(NEWEST, key);
  if (!record) return undefined;
  const { seq, state, text, label, outcome, result } = record;
  const isOver = state === 'DONE' || state === 'DEAD';
  return {
    ...{ seq, state, text },
    ...(label === null ? {} : { label }),
    ...(isOver && outcome !== null ? { outcome } : {}),
    ...(isOver && result !== null ? { result: readJson(result, `run ${seq}`) as unknown as ToolResult } : {}),
  };
}

/** Its outcome: no agent had a part in it. */
const DONE = 'own-call';

/** In one transaction with what the call did, so that the record holds it exactly when it was done. */
export function addOwnCall(store: Store, { run, tool, effect }: OwnCall, change: Change): void {
  if (!addRun(store, run, change)) return;
  const { key, session, replyTo } = run;
  const seq = store.db.get<PromptedRecord>(NEWEST, key)?.seq ?? 0;
  const now = store.clock.now();
  store.db.run(
    `INSERT INTO step (run_seq, n, kind, call_id, state, tool, effect, started_at, ended_at, taint)
     VALUES (?, 0, 'tool', ?, 'DONE', ?, ?, ?, ?, ?)`,
    ...[seq, tool, tool, effect, now, now, run.taint ?? 0],
  );
  store.db.run("UPDATE run SET state = 'DONE', outcome = ?, finished_at = ? WHERE seq = ?", DONE, now, seq);
  change.active -= 1;
  const channel = replyTo?.channel;
  writeEvent(store, {
    ...{ type: 'finished', at: now, messageId: key, session },
    ...(channel === undefined ? {} : { channel }),
    ...{ outcome: DONE, ms: 0 },
  });
}
