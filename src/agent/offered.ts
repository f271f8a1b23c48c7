import type { Tool } from '../core/tool.ts';
import type { AgentRun } from '../core/turn.ts';

/** The tools that the model is told of. The same during a run, unless the config changes meanwhile. */
export function offered({ tools, access, channel, model }: AgentRun): readonly Tool[] {
  const run = { authority: access.authority, channel, model: model.id };
  return tools.filter((tool) => access.policy.offers(tool, run).kind !== 'deny');
}
