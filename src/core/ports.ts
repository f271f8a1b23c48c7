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

/**
 * Room on the disk that one file may take up. Disposing of it gives back what was not used, at once; safe to
 * do twice.
 */
export interface DiskClaim extends Disposable {
  /**
   * The file is about to have so many bytes in all: claims what is missing. Rejects with GH1508 when there is
   * no room, and keeps what it has.
   */
  cover(bytes: number): Promise<void>;
  /** The file lies there now, and makes the workspace larger by so many bytes. Called once. */
  stored(bytes: number): void;
}

/**
 * Claims room in a workspace, an absolute path, for a file of so many bytes; 0 = it is not known of how many.
 * Rejects with GH1508 when there is none, whose message is for the model and names no path, and with the
 * reason of the signal.
 */
export type ClaimDisk = (workspace: string, bytes: number, signal: AbortSignal) => Promise<DiskClaim>;
