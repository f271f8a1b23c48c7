import type { SessionMessage } from '../core/session.ts';
import { LIMIT } from './database.ts';
import { readJson, type Store } from './store.ts';

export interface UnflushedSession {
  readonly session: string;
  readonly lines: readonly { readonly seq: number; readonly line: SessionMessage }[];
}

export function addLines(store: Store, session: string, lines: readonly SessionMessage[]): void {
  for (const line of lines) {
    store.db.run('INSERT INTO session_line (session, line) VALUES (?, ?)', session, JSON.stringify(line));
  }
}

/**
 * Up to `limit` lines above `afterSeq`, oldest first; sessions in order of their oldest line, each one's
 * lines in the order written.
 */
export function unflushedLines(store: Store, limit: number, afterSeq: number): readonly UnflushedSession[] {
  const records = store.db.all<{ seq: number; session: string; line: string }>(
    `SELECT seq, session, line FROM session_line WHERE seq > ? ORDER BY seq ${LIMIT}`,
    afterSeq,
    limit,
  );
  const sessions = new Map<string, { seq: number; line: SessionMessage }[]>();
  for (const { seq, session, line } of records) {
    const entry = { seq, line: readJson(line, `session line ${seq}`) as unknown as SessionMessage };
    const known = sessions.get(session);
    if (known) known.push(entry);
    else sessions.set(session, [entry]);
  }
  return [...sessions].map(([session, lines]) => ({ session, lines }));
}

export function dropLines(store: Store, seqs: readonly number[]): void {
  for (const seq of seqs) store.db.run('DELETE FROM session_line WHERE seq = ?', seq);
}
