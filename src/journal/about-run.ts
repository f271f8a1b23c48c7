import type { Source } from '../core/new-run.ts';
import type { OutboxState } from '../core/outbox.ts';
import type { PartSummary, RunAbout, RunSummary } from '../core/record.ts';
import type { RunState } from '../core/run.ts';
import { openKinds } from './read-waits.ts';
import { eventsOf } from './record.ts';
import type { Store } from './store.ts';

interface RunFacts {
  readonly seq: number;
  readonly key: string;
  readonly source: Source['kind'];
  readonly state: RunState;
  readonly lane: string;
  readonly session: string;
  readonly attempts: number;
  readonly accepted_at: number;
  readonly finished_at: number | null;
  readonly outcome: string | null;
  readonly not_before: number;
}

const FACTS = 'seq, key, source, state, lane, session, attempts, accepted_at, finished_at, outcome, not_before';

/** See `EventRecord.about`. */
export function aboutRun(store: Store, words: string): RunAbout | undefined {
  const row = findRun(store, words);
  const key = row?.key ?? keyOfEvents(store, words);
  if (key === undefined) return undefined;
  return { key, ...(row ? { run: summaryOf(store, row) } : {}), events: eventsOf(store, key), parts: partsOf(store, key) };
}

function findRun({ db }: Store, words: string): RunFacts | undefined {
  const seq = /^in-([1-9]\d{0,14})$/.exec(words)?.[1];
  if (seq !== undefined) return db.get<RunFacts>(`SELECT ${FACTS} FROM run WHERE seq = ?`, Number(seq));
  if (words === 'last') return undefined; // a message that was refused has no row
  const exact = db.get<RunFacts>(`SELECT ${FACTS} FROM run WHERE key = ? ORDER BY seq DESC LIMIT 1`, words);
  if (exact) return exact;
  // A lane is `channel/account/chat[/thread]`: the end of it, or its third part, names the chat.
  const ends = db.get<RunFacts>(
    `SELECT ${FACTS} FROM run WHERE substr(lane, -length(?)) = ? OR instr(lane, ?) > 0 ORDER BY seq DESC LIMIT 1`,
    `/${words}`,
    `/${words}`,
    `/${words}/`,
  );
  return ends;
}

/** What was refused left nothing but its events. */
function keyOfEvents({ db }: Store, words: string): string | undefined {
  const sql =
    words === 'last'
      ? 'SELECT run FROM event WHERE run IS NOT NULL ORDER BY seq DESC LIMIT 1'
      : 'SELECT run FROM event WHERE run = ? LIMIT 1';
  return db.get<{ run: string }>(sql, ...(words === 'last' ? [] : [words]))?.run;
}

function summaryOf({ db }: Store, row: RunFacts): RunSummary {
  const ahead = db.get<{ count: number }>(
    "SELECT count(*) AS count FROM run WHERE lane = ? AND seq < ? AND state IN ('NEW', 'RUNNING')",
    row.lane,
    row.seq,
  );
  const { seq, source, state, lane, session, attempts } = row;
  return {
    ...{ seq, source, state, lane, session, attempts },
    acceptedAt: row.accepted_at,
    ...(row.finished_at === null ? {} : { finishedAt: row.finished_at }),
    ...(row.outcome === null ? {} : { outcome: row.outcome }),
    notBefore: row.not_before,
    waitsFor: openKinds({ db }, row.seq),
    ahead: ahead?.count ?? 0,
  };
}

/** Keys of parts begin with the key of what they answer and `#`, which `$` follows. */
function partsOf({ db }: Store, key: string): readonly PartSummary[] {
  const rows = db.all<{ key: string; state: OutboxState; attempts: number; not_before: number; reason: string | null }>(
    'SELECT key, state, attempts, not_before, reason FROM outbox WHERE key >= ? AND key < ? ORDER BY seq',
    `${key}#`,
    `${key}$`,
  );
  return rows.map(({ key: part, state, attempts, not_before, reason }) => ({
    ...{ key: part, state, attempts, notBefore: not_before },
    ...(reason === null ? {} : { reason }),
  }));
}
