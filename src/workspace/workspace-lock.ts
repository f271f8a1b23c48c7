// calls that write into a workspace, many at a time -> or one call that a person approved, alone
import type { Clock } from '../core/ports.ts';
import { systemClock } from '../lib/clock.ts';
import { startTimer } from '../lib/timer.ts';

/** How long a call waits to write: the model can do something else meanwhile, and is told. ms. */
const WRITE_WAIT_MS = 60_000;

/** A call that wants to write. */
export interface Writer {
  /** Absolute path. */
  readonly workspace: string;
  /** As `ToolContext.idempotencyKey`: what a call holds never keeps the same call out. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

/** Waited for too long. The text is written for the model; nothing has happened. */
export class WorkspaceBusy extends Error {
  override readonly name = 'WorkspaceBusy';
}

/**
 * Keeps the files of a workspace as a person saw them when they said yes to a call. The call holds the
 * workspace alone from before its files are compared until all that it started has ended; meanwhile every
 * other call that writes there waits, of whichever run: a sub-agent works in the directory of the run that
 * began it. First come first served, so that a call that was approved is not kept waiting by those that come
 * after it. A workspace costs memory only while it is held or waited for.
 *
 * New files of outputs and of people are written without it: their names are digests of what brought them, so
 * that they replace nothing and no program looks for them. A message is not kept waiting for a program.
 */
export class WorkspaceLock {
  readonly #clock: Pick<Clock, 'sleep'>;
  readonly #places = new Map<string, Place>();

  constructor(clock: Pick<Clock, 'sleep'> = systemClock) {
    this.#clock = clock;
  }

  /** Workspaces that are held or waited for. */
  get size(): number {
    return this.#places.size;
  }

  /** Rejects with `WorkspaceBusy` after a minute, and with the reason of the signal. */
  async write(writer: Writer): Promise<Disposable> {
    return await this.#enter(writer, { isAlone: false, waitMs: WRITE_WAIT_MS });
  }

  /**
   * For a call that a person approved. Rejects with `WorkspaceBusy` after `waitMs`, and with the reason of
   * the signal.
   */
  async alone(writer: Writer, waitMs: number): Promise<Disposable> {
    return await this.#enter(writer, { isAlone: true, waitMs });
  }

  async #enter(
    { workspace, idempotencyKey, signal }: Writer,
    { isAlone, waitMs }: { readonly isAlone: boolean; readonly waitMs: number },
  ): Promise<Disposable> {
    signal.throwIfAborted();
    const place: Place = this.#places.get(workspace) ?? { holders: new Map(), waiting: [], isAlone: false };
    this.#places.set(workspace, place);
    const entered = Promise.withResolvers<void>();
    const entry = { call: idempotencyKey, isAlone, enter: entered.resolve };
    place.waiting.push(entry);
    this.#letIn(workspace, place);
    const leave = (reason: unknown): void => {
      if (!place.waiting.includes(entry)) return;
      place.waiting = place.waiting.filter((one) => one !== entry);
      this.#letIn(workspace, place);
      entered.reject(reason);
    };
    const onAbort = (): void => leave(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const stop = startTimer(this.#clock, waitMs, () => leave(new WorkspaceBusy(busyText(place, isAlone))));
    try {
      await entered.promise;
    } finally {
      stop();
      signal.removeEventListener('abort', onAbort);
    }
    return { [Symbol.dispose]: once(() => this.#release(workspace, place, idempotencyKey)) };
  }

  #release(workspace: string, place: Place, call: string): void {
    const held = (place.holders.get(call) ?? 1) - 1;
    if (held > 0) place.holders.set(call, held);
    else place.holders.delete(call);
    if (place.holders.size === 0) place.isAlone = false;
    this.#letIn(workspace, place);
  }

  #letIn(workspace: string, place: Place): void {
    const { waiting } = place;
    place.waiting = [];
    for (const entry of waiting) {
      if (!mayEnter(place, entry)) {
        place.waiting.push(entry);
        continue;
      }
      place.holders.set(entry.call, (place.holders.get(entry.call) ?? 0) + 1);
      place.isAlone ||= entry.isAlone;
      entry.enter();
    }
    if (place.holders.size === 0 && place.waiting.length === 0) this.#places.delete(workspace);
  }
}

/** One for the process: workspaces are named by their paths. */
export const workspaceLock = new WorkspaceLock();

interface Waiting {
  readonly call: string;
  readonly isAlone: boolean;
  readonly enter: () => void;
}

interface Place {
  /** How often each call is in there. */
  readonly holders: Map<string, number>;
  /** Whether the one that is in there has it alone. */
  isAlone: boolean;
  /** In the order in which they came. */
  waiting: Waiting[];
}

/** `place.waiting`: those that came before and wait on. */
function mayEnter({ holders, isAlone, waiting }: Place, entry: Waiting): boolean {
  // One that waited for itself would wait for ever.
  if (holders.has(entry.call)) return !entry.isAlone || isAlone || holders.size === 1;
  if (holders.size === 0) return waiting.length === 0;
  return !isAlone && !entry.isAlone && waiting.length === 0;
}

function busyText({ isAlone }: Place, wantedAlone: boolean): string {
  if (wantedAlone)
    return 'other calls write into the workspace and did not end in time, so nothing was run. Ask again for it once they have ended';
  const what = isAlone ? 'a program that a person allowed runs' : 'a program that a person allowed is about to run';
  return `${what} in the workspace, and its files must stay as they are until it has ended. Nothing was changed; try again later`;
}

function once(run: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    run();
  };
}
