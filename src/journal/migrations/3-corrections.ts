/** Version 3: corrections, and since when a part is in doubt. */
export const SQL = `
  -- Key of the message that a correction is about; NULL for everything else, and for corrections of before this version.
  ALTER TABLE inbox ADD COLUMN corrects TEXT;
  CREATE INDEX inbox_corrects ON inbox (corrects, seq) WHERE corrects IS NOT NULL;
  -- Since when a part may have arrived. Of the attempts before this version only their number is known: none began before the part was made.
  ALTER TABLE outbox ADD COLUMN doubt_since INTEGER;
  UPDATE outbox SET doubt_since = created_at WHERE state IN ('PENDING', 'SENDING') AND attempts > 0;
`;
