// a checked config -> each part plans -> all prepare -> all use -> what holds now, key by key
import { isDeepStrictEqual } from 'node:util';
import type { Candidate, KeyChange, Reloadable } from '../core/reload.ts';

type Tree = Readonly<Record<string, unknown>>;

/** Which keys below these paths differ, dotted; lists are compared as a whole. */
export function changedKeys(before: unknown, after: unknown, keys: readonly string[]): readonly string[] {
  return keys.flatMap((key) => differences(at(before, key), at(after, key), key)).toSorted();
}

function differences(before: unknown, after: unknown, path: string): readonly string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isTree(before) || !isTree(after)) return [path];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => differences(before[name], after[name], `${path}.${name}`));
}

function at(tree: unknown, key: string): unknown {
  return key.split('.').reduce<unknown>((node, step) => (isTree(node) ? node[step] : undefined), tree);
}

function isTree(value: unknown): value is Tree {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** A copy of `tree` that has at this key what `other` has there. */
function withKeyOf(tree: unknown, other: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return other;
  const copy: Record<string, unknown> = { ...(isTree(tree) ? tree : {}) };
  const theirs = isTree(other) ? other[step] : undefined;
  if (rest.length === 0 && theirs === undefined) delete copy[step];
  else copy[step] = withKeyOf(copy[step], theirs, rest);
  return copy;
}

/**
 * Takes a changed config into use: all of it, or nothing. Keys that only a restart of the daemon applies keep
 * their value in `running`, so every later reload names them again until they are back, or the daemon is.
 */
export class Reloader<Config extends object> {
  #parts: readonly Reloadable<Config>[] = [];
  #running: Config;
  #isChanging = false;

  constructor(running: Config) {
    this.#running = running;
  }

  /** In the order in which they take a candidate into use. */
  take(parts: readonly Reloadable<Config>[]): void {
    this.#parts = parts;
  }

  /** What is in use, or is being taken into use. */
  get running(): Config {
    return this.#running;
  }

  /** Parts take a change into use or go back: what one has of it another may not have yet. */
  get isChanging(): boolean {
    return this.#isChanging;
  }

  /**
   * One at a time. Resolves with what became of each key that changed; rejects with the reason of the part
   * that refused, and everything is as before.
   */
  async reload(candidate: Config, signal: AbortSignal): Promise<readonly KeyChange[]> {
    const before = this.#running;
    const planned = this.#parts.map((part) => ({ part, changes: part.plan(before, candidate) }));
    const waiting = planned.flatMap(({ changes }) => changes).filter(({ cost }) => cost === 'restart-daemon');
    const after = waiting.reduce<unknown>((tree, { key }) => withKeyOf(tree, before, key.split('.')), candidate) as Config;
    const touched = planned.filter(({ changes }) => changes.some(({ cost }) => cost === 'live' || cost === 'restart-part'));
    const candidates: Candidate[] = [];
    let stands = false;
    try {
      for (const { part } of touched) candidates.push(await part.prepare(before, after, signal));
      const told = new Map<Reloadable<Config>, readonly KeyChange[]>();
      // Before any part: what a new channel receives at once is judged by the config that names the channel.
      this.#isChanging = true;
      this.#running = after;
      for (const [index, one] of candidates.entries()) {
        const { part, changes } = touched[index] as (typeof touched)[number];
        told.set(part, (await one.use()) ?? changes);
      }
      stands = true;
      return planned.flatMap(({ part, changes }) => told.get(part) ?? changes);
    } finally {
      if (!stands) this.#running = before;
      try {
        for (const one of candidates.reverse()) await one.end(stands);
      } finally {
        this.#isChanging = false;
      }
    }
  }
}

/**
 * A part that needs nothing but to be told: what reads these keys does so at each use, by default in
 * `running`. `used` is called once `running` is the changed config.
 */
export function livePart<Config extends object>(
  name: string,
  keys: readonly string[],
  apply: (config: Config) => void = () => undefined,
  used: () => void = () => undefined,
): Reloadable<Config> {
  return {
    ...{ name, keys },
    plan: (before, after) => changedKeys(before, after, keys).map((key) => ({ key, cost: 'live' })),
    prepare: async (before, after) => ({
      use: async () => {
        apply(after);
        return undefined;
      },
      end: async (stands) => {
        if (stands) used();
        else apply(before);
      },
    }),
  };
}

/** Keys that nothing reads while the daemon runs, and what that means for a change. */
export function fixedPart<Config extends object>(
  name: string,
  keys: readonly string[],
  cost: 'nothing' | 'restart-daemon',
): Reloadable<Config> {
  return {
    ...{ name, keys },
    plan: (before, after) => changedKeys(before, after, keys).map((key) => ({ key, cost })),
    prepare: () => Promise.reject(new Error(`${name} takes no candidate`)),
  };
}
