import { z } from 'zod';
import { defineBoundTool, ToolFailure } from './define.ts';
import { labelOf, Task } from './sub-agent-args.ts';

/** P26; what no sub-agent has stands beside them. */
const DENIED: Readonly<Record<string, readonly string[]>> = {
  general: [],
  research: ['write_file', 'send_email', 'edit_file', 'diff_edit', 'shell'],
  'tool-specialist': ['send_email'],
};
const MOST_ITERATIONS = 15;
const ITERATIONS = 10;

export const dispatchSubagent = defineBoundTool({
  name: 'dispatch_subagent',
  description:
    'Hand a part of the work to a sub-agent and wait for its result. Several calls in one answer work side by side, and ' +
    'their results come in the order of the calls. It sees nothing of this conversation.',
  schema: z.strictObject({
    task_description: Task.describe('All that it has to do, and what to answer with'),
    context: Task.optional().describe('What it has to know beside the task'),
    agent_type: z.string().max(100).optional().describe('general (default), research (changes nothing) or tool-specialist'),
    max_iterations: z.number().optional().describe('Model calls, 1 to 15; default 10'),
    token_budget: z.int().min(1).nullish().describe('Tokens in and out together'),
  }),
  tags: ['sessions'],
  // The run of a call is made once, and what it does is judged call by call.
  effect: 'none',
  bind: ({ subAgents }) => subAgents,
  async run(args, call, subAgents) {
    const { task_description: task, context, agent_type: type = 'general', token_budget: budget } = args;
    const asked = Math.round(args.max_iterations ?? ITERATIONS);
    const request = {
      ...{ task, label: labelOf(task), allow: [] },
      deny: Object.hasOwn(DENIED, type) ? (DENIED[type] ?? []) : [],
      ...(context === undefined ? {} : { context }),
      maxIterations: Math.min(MOST_ITERATIONS, Math.max(1, asked)),
      ...(budget == null ? {} : { maxTokens: budget }),
    };
    const planned = await subAgents.plan(request, call, 'dispatch_subagent');
    if (planned.kind === 'refused') throw new ToolFailure(`no sub-agent was begun: ${planned.reason}`);
    return { output: '', wait: { kind: 'run', about: planned.run } };
  },
});
