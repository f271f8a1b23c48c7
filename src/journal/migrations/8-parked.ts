/** Version 8: a stop finds what waits by the lane in which it answers, whatever session that is in. */
export const SQL = `
  CREATE INDEX run_parked_lane ON run (lane) WHERE state = 'PARKED';
`;
