import type { Store } from './store.ts';

/**
 * Marks the present for aging and returns the ms of aging so far. Call inside a transaction: at every start
 * before anything expires or is given up, and hourly.
 *
 * Lifetimes are stored as wall-clock times. The stored times cannot tell a machine that was off for two days
 * from a clock that is two days ahead, so one gap between two marks uses up at most half of a part's life,
 * and `longestMs` of a waiting message's. What the gap took beyond that is given back to the rows: a start
 * with a wrong clock ends nothing that had half of its life left (F22). A clock that goes back lets rows live
 * longer, which is harmless.
 */
export function absorbGap(store: Store, longestMs: number): number {
  const { db, aging } = store;
  const gap = aging.gap();
  if (gap > longestMs) {
    // One statement per state: each has a partial index, and together they would scan the table.
    for (const state of ['NEW', 'RUNNING'])
      db.run(`UPDATE run SET aged_from = aged_from + ? WHERE state = '${state}'`, gap - longestMs);
  }
  for (const state of ['PENDING', 'SENDING']) {
    const sql = `UPDATE outbox SET created_at = created_at + (?1 - (expires_at - created_at) / 2),
      expires_at = expires_at + (?1 - (expires_at - created_at) / 2) WHERE state = '${state}' AND ?1 > (expires_at - created_at) / 2`;
    db.run(sql, gap);
  }
  return aging.advance();
}
