import { z } from 'zod';
import { HOOK_EVENTS } from '../../src/core/hooks.ts';

export const hooksSection = z
  .array(
    z.strictObject({
      event: z
        .enum(HOOK_EVENTS)
        .describe(
          'When it runs. before_tool_call, before_llm_call and message_in are asked and may refuse; after_tool_call, after_llm_call and message_out are told.',
        ),
      command: z
        .array(
          z
            .string()
            .min(1)
            .max(4_096)
            .regex(/^[^\0]*$/, 'must hold no NUL'),
        )
        .min(1)
        .max(100)
        .describe(
          'Program and arguments; no shell reads them. A leading ~ is your home directory. It is given JSON on standard input.',
        ),
      timeout_ms: z.int().min(10).max(600_000).default(5_000).describe('It is ended after this. In ms.'),
      tool_filter: z
        .array(z.string().min(1).max(200))
        .max(1_000)
        .default([])
        .describe('Only for these tools: entries as in tool_policy.allow. Empty: all.'),
      on_error: z
        .enum(['allow', 'deny'])
        .default('allow')
        .describe(
          'What it comes to when the hook fails or is too slow. allow: as if it were not there, and after three failures in a row it is left out until the next start. deny: what it was asked about does not happen.',
        ),
    }),
  )
  .max(100)
  .default([])
  .describe('Programs of yours that are asked or told about model calls, tool calls and messages: see docs/hooks.md.');
