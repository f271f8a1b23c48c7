/** Version 2: what a call cost. */
export const SQL = `
  -- NULL: the price is unknown, as it was for every call before this version.
  ALTER TABLE usage ADD COLUMN cost_usd REAL;
  ALTER TABLE usage ADD COLUMN job TEXT;
`;
