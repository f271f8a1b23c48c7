/** Yeses that hold for a session. */
import { hash } from 'node:crypto';
import type { SessionGrant, Settled } from '../core/wait.ts';
import type { Store } from './store.ts';

const GRANT_MS = 86_400_000;

/** In the transaction that ends the wait of the question. */
export function addGrant({ db, clock }: Store, grant: SessionGrant, { wait, by }: Settled): void {
  const now = clock.now();
  const { principal, tool, digest, session } = grant;
  db.run(
    `INSERT OR REPLACE INTO approval (id, principal, tool, digest, scope, session, given_by, given_at, expires_at)
     VALUES (?, ?, ?, ?, 'session', ?, ?, ?, ?)`,
    ...[`${placeOf(session)}/${digest}/${wait}`, principal, tool, digest, session, by, now, now + GRANT_MS],
  );
}

/** See `Waits`. A clock that was set back behind the yes makes it void, not longer. */
export function findGrant({ db, clock }: Store, { principal, tool, session, digest }: SessionGrant): string | undefined {
  const sql = `SELECT id FROM approval WHERE id > ?1 || '/' AND id < ?1 || '0' AND principal = ?2 AND tool = ?3 AND session = ?4
    AND given_at <= ?5 AND expires_at > ?5`;
  const place = `${placeOf(session)}/${digest}`;
  return db.get<{ id: string }>(sql, place, principal, tool, session, clock.now())?.id;
}

/** They stay for a while, because the calls that they allowed name them. */
export function endGrants({ db, clock }: Store, session: string): void {
  const sql = "UPDATE approval SET expires_at = ?2 WHERE id > ?1 || '/' AND id < ?1 || '0' AND expires_at > ?2";
  db.run(sql, placeOf(session), clock.now());
}

/** Ids begin with it, so that those of a session lie together. */
function placeOf(session: string): string {
  return hash('sha256', session);
}
