// config and journal -> what one run needs to begin sub-agents

import type { RunRow } from '../../core/run.ts';
import type { SubAgents } from '../../core/sub-agents.ts';
import type { Choices } from '../../runs/choices.ts';
import { limitsOfRun } from '../../runs/profile.ts';
import { RunSubAgents } from '../../runs/sub-agents.ts';
import type { ModelStack } from '../model-stack.ts';
import type { Base } from './options.ts';
import { profilesOf } from './tasks.ts';

export interface SubAgentParts {
  readonly base: Base;
  /** To be asked at each use. */
  readonly models: () => ModelStack;
  readonly choices: Pick<Choices, 'inForce'>;
}

export function composeSubAgents({ base, models, choices }: SubAgentParts): (row: RunRow) => SubAgents {
  const { journal, live } = base;
  const options = {
    ...{ journal, choices },
    limits: () => {
      const { max_at_once: atOnce, max_of_request: ofTree, max_tokens_of_request: tokensOfTree } = live().subagents;
      return { atOnce, ofTree, tokensOfTree };
    },
    maxTokens: (row: RunRow) => limitsOfRun(row, profilesOf(live())).maxTokens,
    ownMcp: (tool: 'spawn' | 'dispatch_subagent') => live().subagents.mcp_isolation[tool] === 'per-subagent',
    findModel: (name: string) => models().named?.find(name),
  };
  return (row) => new RunSubAgents(row, options);
}
