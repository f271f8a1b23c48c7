/**
 * Version 5: what begins work is a run, whether a message, a job or another run caused it; a run can wait,
 * and leaves a record. The tables of jobs, waits, people and the record are made here at once: their users
 * come after one another. Rows of before this version have `authority = '{}'`: the reader makes it from the
 * message.
 */
export const SQL = `
  -- A table's CHECK cannot be changed in place: PARKED needs a new table. Released migrations stay as they are.
  CREATE TABLE run (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL,                 -- messageKey | job/<id>/<due> | <parent key>#<call> | api/<client>/<client's key>
    source TEXT NOT NULL CHECK (source IN ('chat', 'job', 'run', 'api')),
    origin TEXT,                       -- job id, parent's key, client; NULL for a chat message
    parent INTEGER,                    -- seq of the run that began this one
    root INTEGER,                      -- seq of the first of the tree: budget per job, cancellation, taint; NULL = itself
    profile TEXT NOT NULL CHECK (profile IN ('session', 'task', 'subagent', 'node')),
    lane TEXT NOT NULL,
    session TEXT NOT NULL,
    workspace TEXT,                    -- session in whose directory the tools work; NULL = its own
    input TEXT NOT NULL,               -- InboundMessage or Prompt
    reply_to TEXT,                     -- Address; NULL = nobody is told
    principal TEXT NOT NULL,
    authority TEXT NOT NULL,           -- Authority
    taint INTEGER NOT NULL DEFAULT 0,
    title TEXT, progress INTEGER, result TEXT,
    state TEXT NOT NULL CHECK (state IN ('NEW', 'RUNNING', 'PARKED', 'DONE', 'DEAD')),
    attempts INTEGER NOT NULL DEFAULT 0,
    generation INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0,
    boot_id TEXT,
    leased_until INTEGER,              -- several nodes only; NULL = for the life of the boot
    ran_ms INTEGER NOT NULL DEFAULT 0, -- time limits count what ran, not what waited
    history_to TEXT,                   -- newest history line it has seen; set when it parks
    accepted_at INTEGER NOT NULL, aged_from INTEGER NOT NULL, finished_at INTEGER,
    outcome TEXT, corrects TEXT, keep_until INTEGER
  );
  INSERT INTO run (seq, key, source, profile, lane, session, input, reply_to, principal, authority, state, attempts, generation, not_before, boot_id,
      accepted_at, aged_from, finished_at, outcome, corrects)
    SELECT seq, key, 'chat', 'session', lane, session, message, NULL, (message ->> '$.channel') || ':' || (message ->> '$.senderId'), '{}', state, attempts,
      generation, not_before, boot_id, accepted_at, aged_from, finished_at, outcome, corrects FROM inbox;
  INSERT INTO sqlite_sequence (name, seq) SELECT 'run', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'run');
  -- A seq is never given out twice, also not that of a row that was purged.
  UPDATE sqlite_sequence SET seq = max(seq, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'inbox'), 0)) WHERE name = 'run';
  DROP TABLE inbox;
  UPDATE purged SET box = 'run' WHERE box = 'inbox';
  CREATE INDEX run_new ON run (lane, seq) WHERE state = 'NEW';
  -- One row of a lane ran at a time before too; should a file say otherwise, the others begin again.
  UPDATE run SET state = 'NEW', boot_id = NULL
    WHERE state = 'RUNNING' AND seq NOT IN (SELECT min(seq) FROM run WHERE state = 'RUNNING' GROUP BY lane);
  CREATE UNIQUE INDEX run_running ON run (lane) WHERE state = 'RUNNING';
  CREATE INDEX run_parked ON run (session) WHERE state = 'PARKED';
  CREATE INDEX run_settled ON run (state, finished_at);
  CREATE INDEX run_key ON run (key);
  CREATE INDEX run_parent ON run (parent) WHERE parent IS NOT NULL;
  CREATE INDEX run_profile ON run (profile, state, seq) WHERE profile <> 'session';
  CREATE INDEX run_corrects ON run (corrects, seq) WHERE corrects IS NOT NULL;

  CREATE TABLE step_5 (
    run_seq INTEGER NOT NULL,
    n INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('model', 'tool', 'note')),   -- note: what a person added while the run was under way (steering)
    call_id TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL CHECK (state IN ('STARTED', 'DONE')),
    args_hash TEXT, value TEXT,
    tool TEXT, effect TEXT,            -- none | workspace | outside
    taint INTEGER NOT NULL DEFAULT 0,
    approved_by TEXT,                  -- id of the wait or grant that allowed it
    started_at INTEGER, ended_at INTEGER,
    PRIMARY KEY (run_seq, n, kind, call_id)
  );
  INSERT INTO step_5 (run_seq, n, kind, call_id, state, args_hash, value)
    SELECT inbox_seq, n, kind, call_id, state, args_hash, value FROM step
    -- What ended needs its steps no more, and they are most of a file.
    WHERE inbox_seq IN (SELECT seq FROM run WHERE state <> 'DONE') ORDER BY rowid;
  DROP TABLE step;
  ALTER TABLE step_5 RENAME TO step;
  CREATE INDEX step_effect ON step (started_at) WHERE effect = 'outside';

  CREATE TABLE wait (
    id TEXT PRIMARY KEY,               -- <run key>#<call id>: the same on every attempt
    run INTEGER NOT NULL, call_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('run', 'person', 'timer', 'signal')),
    about TEXT NOT NULL,               -- child's key | Question | reason | name of the signal
    chat TEXT, code TEXT,              -- of a question: the chat it stands in, what people type
    state TEXT NOT NULL CHECK (state IN ('OPEN', 'SETTLED')),
    value TEXT, late TEXT, by TEXT,
    created_at INTEGER NOT NULL, due INTEGER, settled_at INTEGER,
    UNIQUE (run, call_id)
  ) WITHOUT ROWID;
  CREATE INDEX wait_about ON wait (about) WHERE state = 'OPEN' AND kind IN ('run', 'signal');
  CREATE INDEX wait_due ON wait (due) WHERE state = 'OPEN' AND due IS NOT NULL;
  CREATE INDEX wait_chat ON wait (chat) WHERE state = 'OPEN' AND chat IS NOT NULL;
  CREATE UNIQUE INDEX wait_code ON wait (code) WHERE state = 'OPEN' AND code IS NOT NULL;

  CREATE TABLE approval (             -- a yes that outlives its question
    id TEXT PRIMARY KEY, principal TEXT NOT NULL, tool TEXT NOT NULL, digest TEXT NOT NULL,  -- of argv, cwd, env, file, or of a rule
    scope TEXT NOT NULL CHECK (scope IN ('once', 'session', 'always')), session TEXT,
    given_by TEXT NOT NULL, given_at INTEGER NOT NULL, expires_at INTEGER, used_at INTEGER
  ) WITHOUT ROWID;

  CREATE TABLE process (
    id TEXT PRIMARY KEY, run TEXT, call_id TEXT, pgid INTEGER NOT NULL,
    started TEXT NOT NULL,             -- kernel boot id and start ticks of /proc/<pid>/stat: a reused pid is another process
    program TEXT NOT NULL, boot_id TEXT NOT NULL, at INTEGER NOT NULL
  ) WITHOUT ROWID;

  CREATE TABLE event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL,
    run TEXT, session TEXT, channel TEXT, type TEXT NOT NULL, data TEXT NOT NULL
  );
  CREATE INDEX event_run ON event (run, seq) WHERE run IS NOT NULL;
  CREATE INDEX event_at ON event (at);

  CREATE TABLE chat (
    key TEXT PRIMARY KEY,              -- chatKey
    address TEXT NOT NULL, title TEXT, is_group INTEGER NOT NULL,
    active TEXT NOT NULL DEFAULT '', previous TEXT NOT NULL DEFAULT '',   -- topics
    settings TEXT NOT NULL DEFAULT '{}',                                  -- queue mode, thinking, model of /queue /thinking /model
    last_in INTEGER, last_out INTEGER
  ) WITHOUT ROWID;
  CREATE TABLE person (
    principal TEXT PRIMARY KEY, id TEXT NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL CHECK (role IN ('owner', 'member', 'guest')),
    linked_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX person_id ON person (id);
  ALTER TABLE outbox ADD COLUMN held_for TEXT;    -- topic that is not active: not sent until it is; at most 50 a topic
  CREATE INDEX outbox_held ON outbox (held_for, seq) WHERE held_for IS NOT NULL;

  CREATE TABLE job (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, schedule TEXT NOT NULL, timezone TEXT NOT NULL DEFAULT 'UTC', payload TEXT NOT NULL,
    principal TEXT NOT NULL, authority TEXT NOT NULL, taint INTEGER NOT NULL DEFAULT 0,
    missed TEXT NOT NULL CHECK (missed IN ('once', 'skip')), enabled INTEGER NOT NULL, delete_after_run INTEGER NOT NULL DEFAULT 0,
    next_due INTEGER, last_due INTEGER, last_status TEXT, run_count INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX job_due ON job (next_due) WHERE enabled = 1;

  CREATE TABLE lease (name TEXT PRIMARY KEY, holder TEXT NOT NULL, fence INTEGER NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE pin (                   -- what was approved once and must be approved again when it changes
    kind TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL, approved_by TEXT, at INTEGER NOT NULL, PRIMARY KEY (kind, name)
  ) WITHOUT ROWID;

  -- Otto's names for the same states (P2, P3): a task is a run that somebody asked for by name.
  CREATE VIEW task AS
    SELECT key AS id, title, principal AS user, parent, profile, input, result, session, reply_to, accepted_at AS created_at, finished_at,
      CASE WHEN state = 'NEW' AND attempts = 0 THEN 'pending'
           WHEN state IN ('NEW', 'RUNNING') THEN 'running'
           WHEN state = 'PARKED' AND EXISTS (SELECT 1 FROM wait w WHERE w.run = run.seq AND w.state = 'OPEN' AND w.kind = 'person') THEN 'waiting_input'
           WHEN state = 'PARKED' THEN 'waiting_subagents'
           WHEN state = 'DEAD' OR outcome LIKE 'failed:%' THEN 'failed'
           WHEN outcome = 'cancelled' THEN 'cancelled' ELSE 'completed' END AS status,
      CASE WHEN state = 'DONE' THEN 100 ELSE coalesce(progress, 0) END AS progress
    FROM run WHERE profile IN ('task', 'subagent');
`;
