/** How the tokens of a run, and those of a request, are divided among sub-agents. */
import type { ChildTokens, TokenUse } from '../core/sub-agents.ts';

/** Parts of the tokens of a run: one for each sub-agent that one answer may begin, and one for the run. */
const PARTS = 6;

export interface Shares {
  /** What was asked for; 0 = nothing was. */
  readonly asked: number;
  /** Of all sub-agents of a request: `most` = 0 is without a limit; `used` is what they were given. */
  readonly tree: { readonly most: number; readonly count: number; readonly used: number };
  /** Of the run that asks. Absent = it has no limit. */
  readonly run?: { readonly most: number; readonly left: number };
}

export type Share =
  /** 0 = without a limit. */
  { readonly maxTokens: number } | { readonly usedUp: 'run' | 'request' };

/** Without a wish, an equal share of what the request and the run may use. Never more than is left. */
export function shareOf({ asked, tree, run }: Shares): Share {
  const bounds: number[] = [];
  const shares: number[] = [];
  if (run) {
    if (run.left <= 0) return { usedUp: 'run' };
    bounds.push(run.left);
    shares.push(run.most / PARTS);
  }
  if (tree.most > 0) {
    if (tree.used >= tree.most) return { usedUp: 'request' };
    bounds.push(tree.most - tree.used);
    shares.push(tree.most / tree.count);
  }
  if (bounds.length === 0) return { maxTokens: asked };
  return { maxTokens: Math.min(...bounds, asked || Math.max(1, Math.floor(Math.min(...shares)))) };
}

/**
 * What a run may still give away: of its maximum without what it used, and what its sub-agents were given, or
 * used where that is more. `planned`: budgets of this attempt by key, of rows that may not be there yet. The
 * run `key` is the one that is asked for: an earlier attempt may have begun it.
 */
export function leftToGive(most: number, use: TokenUse, planned: ReadonlyMap<string, number>, key: string): number {
  const rows = new Map(use.children.map((child) => [child.key, child]));
  const again = rows.get(key);
  rows.delete(key);
  for (const [own, given] of planned) if (!rows.has(own)) rows.set(own, { key: own, given, used: 0, isOver: false });
  const unused = [...rows.values()].reduce((sum, child) => sum + unusedOf(child), 0);
  return most - use.own - use.below - unused + (again?.used ?? 0);
}

/** What counts for the maximum of a run beside its own calls: what its sub-agents used, and may still use. */
export function usedBelow({ below, children }: TokenUse): number {
  return children.reduce((sum, child) => sum + (child.isOver ? 0 : unusedOf(child)), below);
}

function unusedOf({ given, used }: ChildTokens): number {
  return Math.max(0, given - used);
}
