/** What an accepted message does to the work of its lane, in the transaction that accepts it (spec A4). */
import { isOverflowLane, messageKey, overflowLane, principalOf } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import { BUSY, type During, INTERRUPTED, STEERED } from '../core/queueing.ts';
import type { Admission, EndedRun } from '../core/run.ts';
import type { Change } from './commit-queue.ts';
import { correctedKey } from './corrections.ts';
import { cancelRunning } from './ended-runs.ts';
import { addNote } from './notes.ts';
import { RUN_COLUMNS, type RunRecord } from './runs.ts';
import { readMessage, type Store } from './store.ts';

type Admitted = Extract<Admission, { kind: 'admit' }>;

/** How a message that would wait is accepted instead. */
export type Instead =
  /** DONE with this outcome: `run` is told it. */
  | { readonly kind: 'steered'; readonly run: number; readonly outcome: string }
  /** Its row is made of this admission; `interrupted` ended for it. */
  | { readonly kind: 'admit'; readonly admission: Admitted; readonly interrupted?: readonly EndedRun[] }
  | { readonly kind: 'decided'; readonly admission: Exclude<Admission, Admitted> };

/** Undefined = it waits until its lane is free. */
export function besideOthers(store: Store, admission: Admitted, change: Change): Instead | undefined {
  const { during } = admission;
  const { kind, media } = admission.message;
  if (kind === 'edit') return behindCorrected(store, admission);
  if (!during || kind !== 'message') return undefined;
  // Files are fetched by a turn of their own, which waits its time.
  if (during.kind !== 'interrupt' && media.length > 0) return undefined;
  if (during.kind === 'overflow') return overflow(store, admission, during);
  const running = runningIn(store, admission);
  if (!running) return undefined;
  // What was said beside the agent is listened to first.
  if (readMessage(running.input, running.seq).overheard) return undefined;
  const isOwn = running.principal === principalOf(admission.message);
  if (during.kind === 'interrupt') {
    if (!isOwn && !during.ofOthers) return undefined;
    const ending = { outcome: INTERRUPTED, ...(isOwn ? { principal: running.principal } : {}) };
    return { kind: 'admit', admission, interrupted: cancelRunning(store, running.seq, ending, change) };
  }
  // What another person says must not be read with the rights of this one.
  if (!isOwn) return undefined;
  const { message, taint = 0 } = admission;
  addNote(store, running.seq, {
    callId: messageKey(message),
    value: { text: during.note(message), at: store.clock.now() },
    taint,
  });
  return { kind: 'steered', run: running.seq, outcome: `${STEERED}${running.key}` };
}

/**
 * What runs beside the others keeps its corrections in its lane: in that of the others one might be answered
 * first, and the stale answer would stand last.
 */
function behindCorrected({ db }: Store, admission: Admitted): Instead | undefined {
  const { message, lane } = admission;
  const newest = (column: 'corrects' | 'key') =>
    db.get<{ lane: string; beside: string | null }>(
      `SELECT lane, input ->> '$.beside' AS beside FROM run WHERE ${column} = ? AND state IN ('NEW', 'RUNNING') ORDER BY seq DESC LIMIT 1`,
      correctedKey(message) ?? '',
    );
  const corrected = newest('corrects') ?? newest('key');
  if (!corrected || corrected.beside === null || !corrected.lane.startsWith(`${lane}##`)) return undefined;
  return {
    kind: 'admit',
    admission: { ...admission, message: { ...message, beside: corrected.beside }, lane: corrected.lane },
  };
}

/** A run of this conversation that a message began. */
function runningIn({ db }: Store, { lane, session }: Admitted): RunRecord | undefined {
  const sql = `SELECT ${RUN_COLUMNS} FROM run INDEXED BY run_running
    WHERE state = 'RUNNING' AND lane = ? AND session = ? AND source = 'chat' AND profile = 'session'`;
  return db.get<RunRecord>(sql, lane, session);
}

interface Row {
  readonly seq: number;
  readonly key: string;
  readonly lane: string;
  readonly state: 'NEW' | 'RUNNING' | 'PARKED';
  readonly source: string;
}

function overflow(store: Store, admission: Admitted, during: Extract<During, { kind: 'overflow' }>): Instead | undefined {
  const { lane, session, message } = admission;
  const inLane = unfinished(store, 'lane = ?', [lane]);
  const [main] = inLane;
  // Behind anything else that waits the message is meant to come after it.
  if (!main || inLane.length > 1 || main.source !== 'chat') return undefined;
  if (main.state === 'NEW' && during.gathers) return undefined;
  const input = store.db.get<{ input: string }>('SELECT input FROM run WHERE seq = ?', main.seq)?.input ?? '{}';
  if (during.follows(readMessage(input, main.seq))) return undefined;
  const taken = new Set(beside(store, lane, session).map((row) => row.lane));
  if (taken.size >= during.most) {
    const full = { kind: 'answer', message, lane, session, outcome: BUSY, parts: during.full(message) } as const;
    return { kind: 'decided', admission: full };
  }
  let n = 1;
  while (taken.has(overflowLane(lane, n))) n += 1;
  addNote(store, main.seq, { callId: messageKey(message), value: { beside: messageKey(message) } });
  const marked: InboundMessage = { ...message, beside: main.key };
  return { kind: 'admit', admission: { ...admission, message: marked, lane: overflowLane(lane, n) } };
}

/** By the indices that hold no row of another lane or session. */
function unfinished({ db }: Store, where: string, values: readonly string[]): readonly Row[] {
  const select = (state: Row['state'], index: string) =>
    db.all<Row>(
      `SELECT seq, key, lane, state, source FROM run INDEXED BY ${index} WHERE state = '${state}' AND ${where} ORDER BY seq LIMIT 100`,
      ...values,
    );
  return [...select('RUNNING', 'run_running'), ...select('NEW', 'run_new')];
}

function beside(store: Store, lane: string, session: string): readonly Row[] {
  const [from, to] = [`${lane}##`, `${lane}#$`];
  const sql = `SELECT seq, key, lane, state, source FROM run INDEXED BY run_parked
    WHERE state = 'PARKED' AND session = ? AND lane >= ? AND lane < ?`;
  const rows = [...unfinished(store, 'lane >= ? AND lane < ?', [from, to]), ...store.db.all<Row>(sql, session, from, to)];
  return rows.filter((row) => isOverflowLane(row.lane));
}

/** An overflow turn was answered: the run beside which it ran is to say so. */
export function noteAnswered({ db }: Store, key: string, run: string): void {
  const sql = `UPDATE step SET state = 'DONE' WHERE kind = 'note' AND call_id = ?
    AND run_seq = (SELECT seq FROM run WHERE key = ? ORDER BY seq DESC LIMIT 1)`;
  db.run(sql, key, run);
}
