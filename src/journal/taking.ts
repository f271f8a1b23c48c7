/** Rows that end with the claim of another one of their lane (spec A4): merged into it, or superseded. */
import { UNTRUSTED } from '../core/authority.ts';
import type { BackgroundLine, InboundMessage } from '../core/message.ts';
import { MERGED, SUPERSEDED, type Taking } from '../core/queueing.ts';
import type { Change } from './commit-queue.ts';
import { writeEvent } from './record.ts';
import { readMessage, type Store } from './store.ts';

interface Waiting {
  readonly seq: number;
  readonly key: string;
  readonly session: string;
  readonly principal: string;
  readonly input: string;
  readonly taint: number;
}

/** The row `seq` was claimed in this transaction. An edit or delete that came before it counts. */
export function takeRows(store: Store, seq: number, taking: Taking, change: Change): void {
  const lead = store.db.get<Waiting & { lane: string }>(
    'SELECT seq, key, lane, session, principal, input, taint FROM run WHERE seq = ?',
    seq,
  );
  if (!lead) return;
  const message = readMessage(lead.input, seq);
  const superseded = taking.superseded.flatMap((one) => end(store, lead, one, SUPERSEDED, change));
  const merged = taking.merged.flatMap((one) => end(store, lead, one, `${MERGED}${lead.key}`, change));
  if (superseded.length + merged.length === 0) return;
  const background: readonly BackgroundLine[] = [
    ...superseded.flatMap(({ input }) => input.background ?? []),
    ...(message.background ?? []),
    ...merged.flatMap(({ input }) => input.background ?? []),
  ];
  const queued = [...(message.queued ?? []), ...merged.map(({ input: { background: _, ...own } }): InboundMessage => own)];
  const whole: InboundMessage = {
    ...message,
    ...(background.length > 0 ? { background } : {}),
    ...(queued.length > 0 ? { queued } : {}),
  };
  // It runs on the account of one person, and with what was granted to them: they did not say what others
  // did.
  const brought = ({ principal, taint }: Ended): number => taint | (principal === lead.principal ? 0 : UNTRUSTED);
  const taint = [...superseded, ...merged].reduce((sum, row) => sum | brought(row), 0);
  store.db.run('UPDATE run SET input = ?, taint = taint | ? WHERE seq = ?', JSON.stringify(whole), taint, seq);
}

interface Ended extends Omit<Waiting, 'input'> {
  readonly input: InboundMessage;
}

/** None where it began, ended or went to another lane meanwhile. */
function end(store: Store, lead: Waiting & { lane: string }, seq: number, outcome: string, change: Change): readonly Ended[] {
  const now = store.clock.now();
  const row = store.db.get<Waiting>(
    `UPDATE run SET state = 'DONE', outcome = ?, finished_at = ?
     WHERE seq = ? AND lane = ? AND session = ? AND state = 'NEW' AND generation = 0 RETURNING seq, key, session, principal, input, taint`,
    ...[outcome, now, seq, lead.lane, lead.session],
  );
  if (!row) return [];
  change.active -= 1;
  const input = readMessage(row.input, seq);
  writeEvent(store, {
    type: 'finished',
    at: now,
    messageId: row.key,
    session: row.session,
    channel: input.channel,
    outcome,
    ms: 0,
  });
  return [{ ...row, input }];
}
