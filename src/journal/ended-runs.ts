/**
 * Runs that end without their agent: cancelled by a person, or given up at a start. What they did must not be
 * forgotten with them.
 */
import { chatKey } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import { type Cancels, channelOf, type EndedRun, type Remains, type RunRow } from '../core/run.ts';
import { noteJobEnd } from './jobs.ts';
import { writeEvent } from './record.ts';
import { RUN_COLUMNS, type RunRecord, toRunRow } from './runs.ts';
import { addLines } from './session-lines.ts';
import { recordedSteps } from './steps.ts';
import { markDrafts } from './stopped-drafts.ts';
import type { Store } from './store.ts';

interface FoundRecord extends RunRecord {
  readonly state: 'NEW' | 'RUNNING';
}

/**
 * Ends the runs that `cancels` is about, oldest first: DONE as `cancelled`, fenced by a new generation, their
 * lines written. In one transaction with the answer that says so: a crash cannot bring back what people were
 * told is cancelled.
 */
export function cancelRuns(store: Store, lane: string, message: InboundMessage, cancels: Cancels): readonly EndedRun[] {
  const { where, principal, stoppedMark } = cancels;
  const found = where === 'lane' ? unfinished(store, 'lane = ?', [lane]) : inChat(store, chatKey(message));
  const meant = found.filter((record) => principal === undefined || record.principal === principal);
  const waiting = meant.filter(({ state, generation }) => state === 'NEW' && generation > 0).map(({ key }) => ({ id: key }));
  if (stoppedMark !== undefined) markDrafts(store, waiting, stoppedMark);
  return meant.map((record) => cancelRun(store, toRunRow(record)));
}

/** Writes the lines of a row that is ended in the same transaction. */
export function leaveRemains(store: Store, row: RunRow): Remains & { readonly hasSteps: boolean } {
  const steps = recordedSteps(store, row.seq);
  const remains = store.remains(row, steps);
  addLines(store, row.session, remains.lines);
  return { ...remains, hasSteps: steps.length > 0 };
}

/** Of a run that no turn finishes. */
export function writeEnd(store: Store, row: RunRow, outcome: string): void {
  const { key: messageId, session, source } = row;
  if (source.kind === 'job') noteJobEnd(store, { id: source.job, due: source.due }, outcome);
  writeEvent(store, { type: 'finished', at: store.clock.now(), messageId, session, channel: channelOf(row), outcome, ms: 0 });
}

function cancelRun(store: Store, row: RunRow): EndedRun {
  const remains = leaveRemains(store, row);
  store.db.run(
    `UPDATE run SET state = 'DONE', outcome = 'cancelled', finished_at = ?, boot_id = NULL, generation = generation + 1 WHERE seq = ?`,
    store.clock.now(),
    row.seq,
  );
  writeEnd(store, row, 'cancelled');
  return { row, ...remains };
}

/** In every lane that `isLaneOf` the chat. */
function inChat(store: Store, chat: string): readonly FoundRecord[] {
  // `0` follows the separator, so the range is that of what begins with the chat and a separator.
  const threads = unfinished(store, 'lane >= ? AND lane < ?', [`${chat}/`, `${chat}0`]);
  return [...unfinished(store, 'lane = ?', [chat]), ...threads].sort((a, b) => a.seq - b.seq);
}

/**
 * Oldest first. By the indices that hold no row of another lane: a stop must not read what waits in all other
 * chats.
 */
function unfinished(store: Store, where: string, values: readonly string[]): readonly FoundRecord[] {
  const select = (state: FoundRecord['state'], index: string) =>
    store.db.all<FoundRecord>(
      `SELECT ${RUN_COLUMNS}, state FROM run INDEXED BY ${index} WHERE state = '${state}' AND ${where}`,
      ...values,
    );
  return [...select('NEW', 'run_new'), ...select('RUNNING', 'run_running')].sort((a, b) => a.seq - b.seq);
}
