import type { Tool } from '../core/tool.ts';
import type { AgentRun } from '../core/turn.ts';

/** The tools that the model is told of. The same during a run, unless the config changes meanwhile. */
export function offered(run: AgentRun): readonly Tool[] {
  return offeredTo(run, run.model.id);
}

/** Names of the tools that both the model of the run and the one that asked for a call may use. */
export function usable(run: AgentRun, asking: string): readonly string[] {
  const names = new Set(offeredTo(run, asking).map(({ name }) => name));
  return offered(run).flatMap(({ name }) => (names.has(name) ? [name] : []));
}

function offeredTo({ tools, access, channel }: AgentRun, model: string): readonly Tool[] {
  return access.policy.offered(tools, { authority: access.authority, channel, model });
}
