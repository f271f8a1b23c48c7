/** How a running daemon takes a changed config (runs.md M11). */

/**
 * What a changed key costs. `nothing`: what runs does not read it. `live`: it holds from the next message on.
 * `restart-part`: the part that reads it is replaced, and loses nothing. `restart-daemon`: it holds from the
 * next start on.
 */
export type Cost = 'nothing' | 'live' | 'restart-part' | 'restart-daemon';

export interface KeyChange {
  /** As people write it: `gateway.max_history`, `gateway.channels.telegram.allowed_senders`. */
  readonly key: string;
  readonly cost: Cost;
  /** What happened, where the key alone does not tell it: `added`, `removed`. */
  readonly detail?: string;
  /** Of a part that was replaced: what it was in the middle of and could not finish. */
  readonly lost?: number;
}

/** What a part made for a changed config. */
export interface Candidate {
  /**
   * Puts it in use, and says what that came to where the plan could not tell. Rejects when it does not work
   * after all; the part then runs as before.
   */
  use(): Promise<readonly KeyChange[] | undefined>;
  /**
   * Called once, used or not. `stands`: the whole reload succeeded, so what was replaced can go. Otherwise
   * the part goes back to what ran before, and the candidate goes.
   */
  end(stands: boolean): Promise<void>;
}

/** A part of the daemon with the config keys that are its own: each key belongs to exactly one part. */
export interface Reloadable<Section> {
  readonly name: string;
  /** Dotted; each stands for what is below it too. */
  readonly keys: readonly string[];
  /** Which of its keys changed, and what each costs. Empty = nothing changed. */
  plan(before: Section, after: Section): readonly KeyChange[];
  /**
   * Makes what the change needs, beside what runs. Rejects when the candidate cannot work: nothing has
   * changed then.
   */
  prepare(before: Section, after: Section, signal: AbortSignal): Promise<Candidate>;
}

/** `2 live (a, b); 1 restarted (c, 0 lost); 1 needs a restart of the daemon (d)`. */
export function changesText(changes: readonly KeyChange[]): string {
  const { live, restarted, waiting } = changesByCost(changes);
  const words = [
    ...group(live, 'live', ({ key, detail }) => (detail === undefined ? key : `${key} ${detail}`)),
    ...group(restarted, 'restarted', ({ key, lost = 0 }) => `${key}, ${lost} lost`),
    ...group(waiting, waiting.length === 1 ? 'needs a restart of the daemon' : 'need a restart of the daemon', ({ key }) => key),
  ];
  return words.length === 0 ? 'nothing that runs is changed' : words.join('; ');
}

function group(changes: readonly KeyChange[], what: string, name: (change: KeyChange) => string): readonly string[] {
  return changes.length === 0 ? [] : [`${changes.length} ${what} (${changes.map(name).join(', ')})`];
}

export function changesByCost(changes: readonly KeyChange[]): {
  readonly live: readonly KeyChange[];
  readonly restarted: readonly KeyChange[];
  readonly waiting: readonly KeyChange[];
} {
  const of = (cost: Cost): readonly KeyChange[] => changes.filter((change) => change.cost === cost);
  return { live: of('live'), restarted: of('restart-part'), waiting: of('restart-daemon') };
}
