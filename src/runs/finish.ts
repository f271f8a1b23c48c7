/** Why a running run was told to stop; it decides from it what becomes of the row. */
export class RunStopped extends Error {
  /** `newer`: a newer message of its person takes its place. */
  readonly by: 'user' | 'newer' | 'shutdown' | 'fenced';

  constructor(by: RunStopped['by']) {
    super(`turn stopped: ${by}`);
    this.name = 'RunStopped';
    this.by = by;
  }
}

/** Commits the outcome of a run. A rejection means that nothing was committed; it may be called again. */
export type Finish = () => Promise<void>;

/** Waits between attempts at what failed inside the gateway (a full disk, a bug): doubled up to the cap. */
export const RETRY_BASE_MS = 1_000;
export const RETRY_CAP_MS = 30_000;
