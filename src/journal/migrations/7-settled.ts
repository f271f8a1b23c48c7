/**
 * Version 7: the indices by the time of an end hold only rows that came to one. Before, each change of state
 * on a message's way wrote them anew: 7 of the 46 pages that a message put into the log.
 */
export const SQL = `
  -- Rows of the first versions may have come to an end without a time.
  UPDATE run SET finished_at = accepted_at WHERE state IN ('DONE', 'DEAD') AND finished_at IS NULL;
  UPDATE run SET finished_at = NULL WHERE state IN ('NEW', 'RUNNING', 'PARKED') AND finished_at IS NOT NULL;
  UPDATE outbox SET settled_at = created_at WHERE state IN ('SENT', 'UNKNOWN', 'DEAD', 'EXPIRED') AND settled_at IS NULL;
  UPDATE outbox SET settled_at = NULL WHERE state IN ('PENDING', 'SENDING') AND settled_at IS NOT NULL;
  DROP INDEX run_settled;
  CREATE INDEX run_settled ON run (state, finished_at) WHERE finished_at IS NOT NULL;
  DROP INDEX outbox_settled;
  CREATE INDEX outbox_settled ON outbox (state, settled_at) WHERE settled_at IS NOT NULL;
`;
