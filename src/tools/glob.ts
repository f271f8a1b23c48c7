// pattern -> the workspace walked where it can match, no link followed -> paths, sorted
import { opendir } from 'node:fs/promises';
import { z } from 'zod';
import { PRIVATE, UNTRUSTED } from '../core/authority.ts';
import type { Clock } from '../core/ports.ts';
import { systemClock } from '../lib/clock.ts';
import { PathRefusal, WorkspaceDirectory } from '../workspace/path.ts';
import { defineTool } from './define.ts';
import { GlobPattern, type GlobState } from './glob-pattern.ts';
import { printableName } from './printable-name.ts';

export interface GlobLimits {
  /** Names that are looked at. */
  readonly entries: number;
  readonly depth: number;
  readonly ms: number;
}

const LIMITS: GlobLimits = { entries: 100_000, depth: 32, ms: 10_000 };

export const globTool = defineTool({
  name: 'glob',
  description: 'Find files of the workspace by a pattern such as src/**/*.{ts,tsx}. Paths come sorted.',
  schema: z.strictObject({
    pattern: z.string().min(1).describe('Relative to the workspace: * ? [a-z] {a,b}, and ** for any directories'),
    limit: z.int().min(1).max(1_000).default(100).describe('Most paths to list'),
  }),
  tags: ['search'],
  effect: 'none',
  // As read_file: people and programs outside chose the names, and one may hold what a run has read.
  reads: UNTRUSTED | PRIVATE,
  async run({ pattern, limit }, { workspace, signal }) {
    const found = await findPaths(workspace, new GlobPattern(pattern), { ...LIMITS, signal });
    const paths = found.paths.toSorted((a, b) => (a < b ? -1 : 1));
    const lines = paths.slice(0, limit);
    if (lines.length === 0) lines.push('(no match)');
    if (paths.length > limit) lines.push(`[${paths.length - limit} more matches not shown]`);
    if (found.stopped) lines.push(`[not all of the workspace was searched: ${found.stopped}]`);
    return lines.join('\n');
  },
});

export interface GlobOptions extends GlobLimits {
  readonly signal: AbortSignal;
  readonly clock?: Pick<Clock, 'monotonic'>;
}

interface Walk {
  readonly pattern: GlobPattern;
  readonly options: GlobOptions;
  readonly ends: number;
  readonly now: () => number;
  readonly paths: string[];
  seen: number;
  /** Why something was not searched. */
  stopped?: string;
  /** Nothing more is. */
  over: boolean;
}

/** Unsorted. `stopped` says which limit ended the search. */
export async function findPaths(
  workspace: string,
  pattern: GlobPattern,
  options: GlobOptions,
): Promise<{ readonly paths: readonly string[]; readonly stopped?: string }> {
  const now = () => (options.clock ?? systemClock).monotonic();
  const walk: Walk = { pattern, options, ends: now() + options.ms, now, paths: [], seen: 0, over: false };
  await using root = await WorkspaceDirectory.open(workspace, []);
  await search(root, { prefix: '', depth: 1, state: pattern.start }, walk);
  return walk;
}

interface Position {
  /** Path of the directory with a slash behind it; empty for the workspace. */
  readonly prefix: string;
  readonly depth: number;
  readonly state: GlobState;
}

async function search(directory: WorkspaceDirectory, { prefix, depth, state }: Position, walk: Walk): Promise<void> {
  const { options, pattern } = walk;
  // One entry at a time: a directory of a million names must not be in memory as a whole. Those to enter are
  // entered afterwards, so that no more is open than the path is deep.
  const inside: { readonly name: string; readonly below: GlobState }[] = [];
  for await (const entry of await opendir(directory.self)) {
    options.signal.throwIfAborted();
    walk.seen += 1;
    if (walk.seen > options.entries) end(walk, `it has more than ${options.entries} names`);
    if (walk.now() > walk.ends) end(walk, `it took longer than ${options.ms / 1000} s`);
    if (walk.over) return;
    const { matches, below } = pattern.enter(state, entry.name);
    const mark = entry.isDirectory() ? '/' : entry.isSymbolicLink() ? ' (symbolic link, not followed)' : '';
    if (matches) walk.paths.push(printableName(prefix + entry.name) + mark);
    if (entry.isDirectory() && below.length > 0) inside.push({ name: entry.name, below });
  }
  if (depth >= options.depth && inside.length > 0) walk.stopped ??= `it is deeper than ${options.depth} directories`;
  if (depth >= options.depth) return;
  for (const { name, below } of inside) {
    if (walk.over) return;
    await using next = await entered(directory, name);
    if (next) await search(next, { prefix: `${prefix}${name}/`, depth: depth + 1, state: below }, walk);
  }
}

function end(walk: Walk, reason: string): void {
  walk.stopped = reason;
  walk.over = true;
}

/** Undefined for what is gone, or became a link meanwhile. */
async function entered(directory: WorkspaceDirectory, name: string): Promise<WorkspaceDirectory | undefined> {
  try {
    return await directory.enter(name);
  } catch (error) {
    if (error instanceof PathRefusal) return undefined;
    throw error;
  }
}
