/** Tools that wait, one for each kind of wait: for tests of parked runs. */
import { z } from 'zod';
import type { NewRun } from '../core/new-run.ts';
import type { RunScope, ToolKit } from '../core/tool.ts';
import { defineTool } from '../tools/define.ts';

const BASE = { tags: [], effect: 'none', outputBytes: 1_000 } as const;

/** `run_child`, `ask_person`, `sleep` and `await_signal`. */
export const waitingTools: ToolKit = (scope) => [
  defineTool({
    ...BASE,
    name: 'run_child',
    description: 'Lets a child do a task.',
    schema: z.strictObject({ task: z.string() }),
    run: async ({ task }, { callId, idempotencyKey }) => ({
      output: '',
      wait: { kind: 'run', about: childOf(scope, idempotencyKey, callId, task) },
    }),
  }),
  defineTool({
    ...BASE,
    name: 'ask_person',
    description: 'Asks the person of this chat, or the owner.',
    schema: z.strictObject({
      question: z.string(),
      answer: z.enum(['approve', 'text']).default('approve'),
      of: z.enum(['chat', 'owner']).default('chat'),
    }),
    run: async ({ question, answer, of }) => {
      const to = (of === 'chat' ? scope.origin : undefined) ?? 'owner';
      const about = { text: question, answer, to, by: [], expiresAt: Date.now() + 3_600_000 } as const;
      return { output: '', wait: { kind: 'person', about } };
    },
  }),
  defineTool({
    ...BASE,
    name: 'sleep',
    description: 'Waits.',
    schema: z.strictObject({ ms: z.number() }),
    run: async ({ ms }) => ({
      output: '',
      wait: { kind: 'timer', about: 'a while', due: Date.now() + ms, late: { ok: true, output: 'slept' } },
    }),
  }),
  defineTool({
    ...BASE,
    name: 'await_signal',
    description: 'Waits for a signal.',
    schema: z.strictObject({ name: z.string() }),
    run: async ({ name }) => ({ output: '', wait: { kind: 'signal', about: name } }),
  }),
];

function childOf({ session, authority }: RunScope, key: string, callId: string, task: string): NewRun {
  const own = `${session}#run:${callId}`;
  return {
    ...{ key, source: { kind: 'run', parent: key.slice(0, -callId.length - 1), callId }, profile: 'subagent' },
    ...{ lane: own, session: own, workspace: session, authority },
    prompt: { text: task, media: [], at: new Date(0).toISOString() },
  };
}

/** For the policy of a test: all people have them. */
export const OPEN_TO_ALL = { members: ['*'], guests: ['*'], deny: ['cron'] };
