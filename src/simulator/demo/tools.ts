/** The two tools that the demo waits with, for as long as the program has none of its own. */
import { z } from 'zod';
import type { ToolKit } from '../../core/tool.ts';
import { defineTool } from '../../tools/define.ts';

const DAY_MS = 86_400_000;
const BASE = { tags: [], effect: 'none', outputBytes: 10_000 } as const;

export const demoTools: ToolKit = ({ session, authority, origin }) => [
  defineTool({
    ...BASE,
    name: 'dispatch_subagent',
    description: 'Hands a part of the work to a sub-agent and waits for its result.',
    schema: z.strictObject({ task_description: z.string() }),
    async run({ task_description: text }, { callId, idempotencyKey: key, clock }) {
      const own = `${session}#run:${callId}`;
      const source = { kind: 'run', parent: key.slice(0, -callId.length - 1), callId } as const;
      const prompt = { text, media: [], at: new Date(clock.now()).toISOString() };
      const about = { key, source, profile: 'subagent', lane: own, session: own, workspace: session, authority, prompt } as const;
      return { output: '', wait: { kind: 'run', about } };
    },
  }),
  defineTool({
    ...BASE,
    name: 'ask_human',
    description: 'Asks the person who began this, and waits for the answer.',
    schema: z.strictObject({ question: z.string(), wait_for_answer: z.boolean().optional() }),
    async run({ question: text }, { clock }) {
      const about = { text, answer: 'text', to: origin ?? 'owner', by: [], expiresAt: clock.now() + DAY_MS } as const;
      return { output: '', wait: { kind: 'person', about } };
    },
  }),
];
