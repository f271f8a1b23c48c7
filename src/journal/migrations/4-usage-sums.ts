/** Version 4: sums of the ledger. */
export const SQL = `
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
`;
