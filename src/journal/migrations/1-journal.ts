/** Version 1: everything in flight. */
export const SQL = `
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
`;
