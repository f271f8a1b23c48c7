import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { GatehouseError } from '../core/errors.ts';
import { Database } from './database.ts';

/**
 * Each entry takes the schema from the version before it to the next; entry 0 makes version 1. Released entries are never
 * edited: files out there were made with them. All times are epoch ms except `dedup.accepted_at` (see `aging.ts`).
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY) WITHOUT ROWID;

  -- AUTOINCREMENT: a seq is never given out twice, not even after its row was purged or dropped. Late writes name it.
  CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL,
    lane TEXT NOT NULL,
    session TEXT NOT NULL,
    message TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('NEW', 'RUNNING', 'DONE', 'DEAD')),
    attempts INTEGER NOT NULL DEFAULT 0,
    generation INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0,
    boot_id TEXT,
    accepted_at INTEGER NOT NULL,
    aged_from INTEGER NOT NULL,
    finished_at INTEGER,
    outcome TEXT
  );
  -- One per state: the planner takes a partial index only when the query repeats its condition literally.
  CREATE INDEX inbox_new ON inbox (lane, seq) WHERE state = 'NEW';
  CREATE INDEX inbox_running ON inbox (seq) WHERE state = 'RUNNING';
  CREATE INDEX inbox_settled ON inbox (state, finished_at);
  CREATE INDEX inbox_key ON inbox (key);

  CREATE TABLE step (
    inbox_seq INTEGER NOT NULL,
    n INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('model', 'tool')),
    call_id TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL CHECK (state IN ('STARTED', 'DONE')),
    args_hash TEXT,
    value TEXT,
    PRIMARY KEY (inbox_seq, n, kind, call_id)
  );

  CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    lane TEXT NOT NULL,
    part TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('PENDING', 'SENDING', 'SENT', 'UNKNOWN', 'DEAD', 'EXPIRED')),
    attempts INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0,
    plain INTEGER NOT NULL DEFAULT 0,
    boot_id TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    settled_at INTEGER,
    platform_id TEXT,
    reason TEXT
  );
  CREATE INDEX outbox_pending ON outbox (lane, seq) WHERE state = 'PENDING';
  CREATE INDEX outbox_sending ON outbox (seq) WHERE state = 'SENDING';
  CREATE INDEX outbox_settled ON outbox (state, settled_at);

  CREATE TABLE cursor (
    channel TEXT NOT NULL, account TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (channel, account)
  ) WITHOUT ROWID;

  -- Outlives the rows it speaks of: a platform may repeat a message long after its content was purged.
  CREATE TABLE dedup (
    kind INTEGER NOT NULL, key TEXT NOT NULL, accepted_at INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
  ) WITHOUT ROWID;
  CREATE INDEX dedup_age ON dedup (accepted_at);

  CREATE TABLE session_line (seq INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, line TEXT NOT NULL);

  CREATE TABLE usage (
    id TEXT PRIMARY KEY, at INTEGER NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
    tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, tokens_cached INTEGER NOT NULL,
    session TEXT NOT NULL, channel TEXT NOT NULL, sender TEXT NOT NULL, purpose TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX usage_at ON usage (at);

  CREATE TABLE refusal (
    channel TEXT NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (channel, reason)
  ) WITHOUT ROWID;

  -- How many rows of a state were purged, so that the totals people see never fall.
  CREATE TABLE purged (
    box TEXT NOT NULL, state TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (box, state)
  ) WITHOUT ROWID;

  -- key: channel, account and sender, injective even for ids that are not well-formed text.
  CREATE TABLE pairing (
    key TEXT PRIMARY KEY, channel TEXT NOT NULL, account TEXT NOT NULL, sender_id TEXT NOT NULL, sender_name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied')),
    code_hash BLOB, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, told_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE pairing_miss (at INTEGER NOT NULL);
  `,
  `
  -- NULL: the price is unknown, as it was for every call before this version.
  ALTER TABLE usage ADD COLUMN cost_usd REAL;
  ALTER TABLE usage ADD COLUMN job TEXT;
  `,
  `
  -- Key of the message that a correction is about; NULL for everything else, and for corrections of before this version.
  ALTER TABLE inbox ADD COLUMN corrects TEXT;
  CREATE INDEX inbox_corrects ON inbox (corrects, seq) WHERE corrects IS NOT NULL;
  -- Since when a part may have arrived. Of the attempts before this version only their number is known: none began before the part was made.
  ALTER TABLE outbox ADD COLUMN doubt_since INTEGER;
  UPDATE outbox SET doubt_since = created_at WHERE state IN ('PENDING', 'SENDING') AND attempts > 0;
  `,
  `
  -- 0 and NULL: calls of before this version did not tell.
  ALTER TABLE usage ADD COLUMN tokens_cache_write INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE usage ADD COLUMN tokens_reasoning INTEGER;

  -- Sums of usage (see usage-sums.ts). "start" begins a quarter of an hour of UTC: midnight falls on one in
  -- every time zone, so days are cut when they are asked for, in the zone of the reader. Only by_model has
  -- whole UTC days too.
  CREATE TABLE usage_total (
    start INTEGER PRIMARY KEY,
    calls INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, tokens_cached INTEGER NOT NULL,
    tokens_cache_write INTEGER NOT NULL, cost_usd REAL NOT NULL, unpriced INTEGER NOT NULL
  );
  CREATE TABLE usage_by_model (
    span_ms INTEGER NOT NULL, start INTEGER NOT NULL,
    provider TEXT NOT NULL, model TEXT NOT NULL, channel TEXT NOT NULL, purpose TEXT NOT NULL,
    calls INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, tokens_cached INTEGER NOT NULL,
    tokens_cache_write INTEGER NOT NULL, cost_usd REAL NOT NULL, unpriced INTEGER NOT NULL,
    PRIMARY KEY (span_ms, start, provider, model, channel, purpose)
  ) WITHOUT ROWID;
  -- job: '' for calls outside of jobs.
  CREATE TABLE usage_by_sender (
    start INTEGER NOT NULL, session TEXT NOT NULL, sender TEXT NOT NULL, job TEXT NOT NULL,
    calls INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, tokens_cached INTEGER NOT NULL,
    tokens_cache_write INTEGER NOT NULL, cost_usd REAL NOT NULL, unpriced INTEGER NOT NULL,
    PRIMARY KEY (start, session, sender, job)
  ) WITHOUT ROWID;
  CREATE INDEX usage_by_job ON usage_by_sender (start) WHERE job <> '';

  -- Every row before this time is in the sums, no later one is.
  INSERT INTO meta SELECT 'usage_summed_until', coalesce(max(at) + 1, 0) FROM usage;
  -- total() and not sum(): old rows may hold counts whose sum is beyond 64 bits.
  INSERT INTO usage_by_model
    SELECT 900000, at - at % 900000, provider, model, channel, purpose, count(*), total(tokens_in), total(tokens_out),
      total(tokens_cached), 0, total(cost_usd), count(*) - count(cost_usd)
    FROM usage GROUP BY 2, 3, 4, 5, 6;
  INSERT INTO usage_by_model
    SELECT 86400000, start - start % 86400000, provider, model, channel, purpose, sum(calls), total(tokens_in), total(tokens_out),
      total(tokens_cached), 0, total(cost_usd), sum(unpriced)
    FROM usage_by_model WHERE span_ms = 900000 GROUP BY 2, 3, 4, 5, 6;
  INSERT INTO usage_total
    SELECT start, sum(calls), total(tokens_in), total(tokens_out), total(tokens_cached), 0, total(cost_usd), sum(unpriced)
    FROM usage_by_model WHERE span_ms = 900000 GROUP BY 1;
  INSERT INTO usage_by_sender
    SELECT at - at % 900000, session, sender, coalesce(job, ''), count(*), total(tokens_in), total(tokens_out),
      total(tokens_cached), 0, total(cost_usd), count(*) - count(cost_usd)
    FROM usage GROUP BY 1, 2, 3, 4;
  `,
];

export function schemaVersion(db: Database): number {
  return db.get<{ user_version: number }>('PRAGMA user_version')?.user_version ?? 0;
}

/** Throws GH1303 for a file of a newer version; nothing is changed then (F47). */
export function refuseNewer(version: number, known = MIGRATIONS.length): void {
  if (version <= known) return;
  throw new GatehouseError('GH1303', `the journal has schema version ${version}; this gatehouse knows up to ${known}`);
}

/** An older file is about to be brought up to date; `copy` is the path of the file as it was. */
export interface Upgrade {
  readonly from: number;
  readonly to: number;
  readonly copy: string;
}

/**
 * Brings the file to the newest version in one transaction. An older file that already holds data is copied to
 * `<path>.v<version>.bak` first; that copy is what a downgrade goes back to. Safe when two processes open one
 * file at once, and when killed anywhere: the next start does it again. `onUpgrade` is told before the first
 * step of an older file.
 */
export function migrate(
  db: Database,
  migrations: readonly string[] = MIGRATIONS,
  onUpgrade: (about: Upgrade) => void = () => {},
): void {
  const before = schemaVersion(db);
  refuseNewer(before, migrations.length);
  if (before === migrations.length) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    const version = schemaVersion(db); // again, now that nobody else can change it
    refuseNewer(version, migrations.length);
    refuseForeign(db, version);
    if (version > 0 && version < migrations.length) {
      const copy = `${db.path}.v${version}.bak`;
      onUpgrade({ from: version, to: migrations.length, copy });
      keepCopy(db.path, copy);
    }
    for (const step of migrations.slice(version)) db.exec(step);
    db.exec(`PRAGMA user_version = ${migrations.length}`);
    db.exec('COMMIT');
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Copies what is committed, on a connection of its own: the caller's transaction keeps writers out, and
 * VACUUM cannot run within one. The name is taken by a whole copy only. What an upgrade that was killed left
 * under it, or under the draft's, is replaced.
 */
function keepCopy(source: string, copy: string): void {
  const draft = `${copy}.partial`;
  const clear = () => {
    for (const path of [draft, `${draft}-journal`]) rmSync(path, { force: true });
  };
  try {
    clear();
    closeSync(openSync(draft, 'wx', 0o600));
    {
      using from = new Database(source, { readOnly: true, busyMs: 5_000 });
      from.exec(`VACUUM INTO '${draft.replaceAll("'", "''")}'`);
    }
    syncPath(draft);
    renameSync(draft, copy);
    syncPath(dirname(copy));
  } catch (error) {
    clear();
    throw error;
  }
}

function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

function refuseForeign(db: Database, version: number): void {
  if (version > 0) return;
  const table = db.get<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' LIMIT 1");
  if (table) throw new GatehouseError('GH1302', `${db.path} is a database of another program (it has a table "${table.name}")`);
}
