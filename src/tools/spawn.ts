import { z } from 'zod';
import { isKnownEntry } from '../core/tool-groups.ts';
import { defineBoundTool, ToolFailure } from './define.ts';
import { labelOf, Task } from './sub-agent-args.ts';

const MOST_TOOLS = 100;

export const spawn = defineBoundTool({
  name: 'spawn',
  description:
    'Give a task of its own to a sub-agent, which sees nothing of this conversation. mode sync waits for its result; ' +
    'background returns at once, and the result reaches this chat by itself when it is there.',
  schema: z.strictObject({
    task: Task.describe('All that it has to do, and what to answer with'),
    label: z.string().max(100).optional().describe('Short name that people are shown'),
    mode: z.enum(['sync', 'background']).default('background'),
    allowed_tools: z.array(z.string()).max(MOST_TOOLS).default([]).describe('Empty: all of yours'),
    context: Task.optional().describe('What it has to know beside the task'),
    model: z.string().max(200).optional().describe('Default: the one that you are'),
  }),
  tags: ['sessions'],
  // The run of a call is made once, and what it does is judged call by call.
  effect: 'none',
  bind: ({ subAgents }) => subAgents,
  async run({ task, label, mode, allowed_tools: allow, context, model }, call, subAgents) {
    const odd = allow.find((entry) => !isKnownEntry(entry));
    if (odd !== undefined) throw new ToolFailure(`allowed_tools names no tool or group: ${JSON.stringify(odd)}`);
    const isBackground = mode === 'background';
    const request = {
      ...{ task, label: labelOf(label ?? task), allow, deny: [] },
      ...(context === undefined ? {} : { context }),
      ...(model === undefined ? {} : { model }),
      ...(isBackground ? { isBackground } : {}),
    } as const;
    const planned = await subAgents.plan(request, call, 'spawn');
    if (planned.kind === 'refused') throw new ToolFailure(`no sub-agent was begun: ${planned.reason}`);
    const { run } = planned;
    if (!isBackground) return { output: '', wait: { kind: 'run', about: run } };
    if (!(await subAgents.begin(run))) throw new ToolFailure('no sub-agent was begun: this run has ended');
    return `The sub-agent “${request.label}” is at work (id ${run.key}). This chat is told its result by itself: neither wait for it nor do its task.`;
  },
});
