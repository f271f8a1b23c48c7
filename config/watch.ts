import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../src/core/ports.ts';
import { hashOf, type LoadedConfig } from './load.ts';
import { formatPath } from './problem.ts';

/** Keys that take effect on the next turn; every other change needs a restart (spec F3). */
const HOT_KEYS: readonly string[] = [
  'heartbeat.every_minutes',
  'heartbeat.max_a_day',
  'gateway.system_prompt',
  'gateway.max_history',
  // Not in spec F3: whoever lowers a limit wants it to hold now.
  'budget',
  ...['daily_usd', 'session_usd', 'sender_usd', 'job_usd', 'allow_unknown_price', 'steps'].map((key) => `budget.${key}`),
];

/** Read by editors only. */
const EDITOR_KEYS: readonly string[] = ['$schema'];

export interface ConfigChange {
  readonly loaded: LoadedConfig;
  /** Keys that changed since the config applied last and take effect at once. */
  readonly hot: readonly string[];
  /**
   * Keys that differ from what the process started with and wait for a restart. Sticky: named again with every later change
   * until the process restarts or the value is back to what it was.
   */
  readonly restart: readonly string[];
}

export interface WatchOptions {
  readonly file: string;
  /** What the process started with. */
  readonly initial: LoadedConfig;
  readonly load: () => Promise<LoadedConfig>;
  /** Called for a changed, valid file. A throw ends the watch. */
  readonly onValid: (change: ConfigChange) => void;
  /** Called once per unusable content (`ConfigError` with file:line, or GH1102); the config in use stays. */
  readonly onInvalid: (error: unknown) => void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Default 5000 (spec F3). */
  readonly intervalMs?: number;
}

/**
 * Polls the file: inotify does not see bind mounts and network file systems, and editors replace files. Reads only; never
 * writes the file, never restarts. Resolves when the signal aborts.
 */
export async function watchConfig(options: WatchOptions): Promise<void> {
  const { file, initial, clock, signal, intervalMs = 5_000 } = options;
  let seen = initial.hash;
  let applied = initial;
  for (;;) {
    try {
      await clock.sleep(intervalMs, signal);
    } catch {
      return; // the sleep ends early only because the signal aborted
    }
    const before = await fingerprint(file);
    if (before === seen) continue;
    const result = await attempt(options.load);
    // Written while it was read: what was loaded may be neither the old nor the new file. Look again next time.
    if ((await fingerprint(file)) !== before) continue;
    seen = before;
    if (signal.aborted) return;
    if (result.kind === 'failed') {
      options.onInvalid(result.error);
      continue;
    }
    const hot = changedKeys(applied.config, result.loaded.config).filter((key) => HOT_KEYS.includes(key));
    const restart = changedKeys(initial.config, result.loaded.config).filter(
      (key) => ![...HOT_KEYS, ...EDITOR_KEYS].includes(key),
    );
    applied = result.loaded;
    options.onValid({ loaded: result.loaded, hot, restart });
  }
}

type Attempt = { readonly kind: 'loaded'; readonly loaded: LoadedConfig } | { readonly kind: 'failed'; readonly error: unknown };

async function attempt(load: () => Promise<LoadedConfig>): Promise<Attempt> {
  try {
    return { kind: 'loaded', loaded: await load() };
  } catch (error) {
    return { kind: 'failed', error };
  }
}

/** A file that is gone or unreadable has a fingerprint too, so that it is reported once. */
async function fingerprint(file: string): Promise<string> {
  try {
    return hashOf(await readFile(file));
  } catch (error) {
    return `unreadable: ${error instanceof Error && 'code' in error ? String(error.code) : 'unknown'}`;
  }
}

/** Dotted keys that differ; lists are compared as a whole. */
function changedKeys(before: unknown, after: unknown, path: readonly string[] = []): readonly string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isSection(before) || !isSection(after)) return [formatPath(path)];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].sort().flatMap((key) => changedKeys(before[key], after[key], [...path, key]));
}

function isSection(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
