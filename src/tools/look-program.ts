import type { RunSpawner } from '../core/process.ts';
import type { Tool, ToolFacts } from '../core/tool.ts';
import { boundsFacts } from './program-bounds.ts';

/** What is judged of a tool by where its program runs. */
type Judged = Pick<ToolFacts, 'effect' | 'idempotent' | 'act'>;

/**
 * A tool that starts a fixed program which only looks (`git`, `rg`), where no sandbox holds that program: a
 * program as any other, which files that strangers made may lead astray.
 */
export const BARE: Judged = { effect: 'outside', idempotent: true, act: 'program' };

/** For `judge` of such a tool. */
export function judgeLook({ bounds }: RunSpawner): Partial<Pick<Tool, 'effect' | 'idempotent' | 'act' | 'approval'>> {
  if (bounds.mode !== 'none') return {};
  const held = boundsFacts(bounds);
  const approval: Tool['approval'] = async (_args, { workspace }) => ({
    digest: { cwd: workspace, bounds: held.digest },
    shown: `in the workspace of this conversation\n${held.shown}`,
  });
  return { ...BARE, approval };
}
