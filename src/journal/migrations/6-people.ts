/**
 * Version 6: people who are blocked, a record of decisions that cannot be changed unseen, where a request
 * came from.
 */
export const SQL = `
  CREATE TABLE block (
    key TEXT PRIMARY KEY,              -- channel and sender, injective as the keys of pairing
    channel TEXT NOT NULL, sender TEXT NOT NULL, by TEXT NOT NULL, at INTEGER NOT NULL, reason TEXT
  ) WITHOUT ROWID;

  -- Rows are only ever added. AUTOINCREMENT keeps the highest seq beside the table: a cut end is seen too.
  CREATE TABLE audit (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, by TEXT NOT NULL,
    data TEXT NOT NULL,                -- canonical JSON: ids and counts
    prev TEXT NOT NULL,                -- hash of the row before; empty in the first
    hash TEXT NOT NULL                 -- SHA-256 of the canonical JSON of the other columns
  );

  ALTER TABLE pairing ADD COLUMN chat_id TEXT;   -- where the request was made, and its answer goes; NULL before version 6
`;
