import type { Choice } from '../core/message.ts';
import type { SessionMessage } from '../core/session.ts';
import type { AgentResult } from '../core/turn.ts';

/** What ends a run, and what the chat is told. */
export interface End {
  readonly state: 'DONE' | 'DEAD';
  /** Short and stable, as in `TurnResult`. */
  readonly outcome: string;
  /** Absent = nothing is said. */
  readonly text?: string;
  readonly files?: AgentResult['files'];
  readonly choices?: readonly Choice[];
  readonly lines?: readonly SessionMessage[];
}

/** Why a running run was told to stop; it decides from it what becomes of the row. */
export class RunStopped extends Error {
  readonly by: 'user' | 'shutdown' | 'fenced';

  constructor(by: 'user' | 'shutdown' | 'fenced') {
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
