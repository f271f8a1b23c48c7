/** Small ports without a file of their own. Implementations are built in `src/app` and in tests. */

/** Time as a collaborator, so that tests can move it. */
export interface Clock {
  /** Wall clock, epoch ms: for records and expiry. */
  now(): number;
  /** Never goes back: for durations and time-outs. ms. */
  monotonic(): number;
  /** Rejects with `signal.reason` when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/**
 * One line per state change: an event name plus data. Secrets are removed by the logger, never by the caller.
 */
export interface Logger {
  /** False: `debug` writes nothing, so its data need not be made. Absent: it may write. */
  isDebugEnabled?(): boolean;
  child(fields: Readonly<Record<string, unknown>>): Logger;
  debug(event: string, data?: Readonly<Record<string, unknown>>): void;
  info(event: string, data?: Readonly<Record<string, unknown>>): void;
  warn(event: string, data?: Readonly<Record<string, unknown>>): void;
  error(event: string, data?: Readonly<Record<string, unknown>>): void;
}
