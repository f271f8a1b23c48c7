import { z } from 'zod';
import { isKnownEntry, meantEntry } from '../core/tool-groups.ts';
import { defineBoundTool, ToolFailure } from './define.ts';
import { labelOf, Task } from './sub-agent-args.ts';

const MOST_TOOLS = 100;
/** With less a sub-agent would be left without its tools. Tokens. */
const LEAST_WINDOW = 4_096;

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
    system_prompt: Task.optional().describe('How it is to work'),
    context_window: z.int().min(LEAST_WINDOW).optional().describe('Most tokens of one of its model calls'),
  }),
  tags: ['sessions'],
  // The run of a call is made once, and what it does is judged call by call.
  effect: 'none',
  bind: ({ subAgents }) => subAgents,
  async run({ task, label, mode, allowed_tools: allow, context, model, ...how }, call, subAgents) {
    const { system_prompt: instructions, context_window: contextWindow } = how;
    const odd = allow.find((entry) => !isKnownEntry(entry));
    if (odd !== undefined) throw new ToolFailure(`allowed_tools names no tool or group: ${JSON.stringify(odd)}${hintFor(odd)}`);
    const isBackground = mode === 'background';
    const request = {
      ...{ task, label: labelOf(label ?? task), allow, deny: [] },
      ...(context === undefined ? {} : { context }),
      ...(model === undefined ? {} : { model }),
      ...(instructions === undefined ? {} : { instructions }),
      ...(contextWindow === undefined ? {} : { contextWindow }),
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

/** A server of tools is described to the model by its name alone. */
function hintFor(entry: string): string {
  const meant = meantEntry(entry);
  return meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`;
}
