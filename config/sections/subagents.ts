import { z } from 'zod';

const isolation = z.enum(['shared', 'per-subagent']);

/** Section `subagents`: what a run may have others do (spec G10, P25 to P33). */
export const subagentsSection = z
  .strictObject({
    max_at_once: z
      .int()
      .min(1)
      .max(100)
      .default(10)
      .describe('Sub-agents of one conversation that may be at work at the same time. One answer begins at most 5.'),
    max_of_request: z
      .int()
      .min(1)
      .max(1_000)
      .default(20)
      .describe('Sub-agents that one request may begin in all, with those that the results of others lead to.'),
    max_tokens_of_request: z
      .int()
      .min(0)
      .max(1_000_000_000)
      .default(10_000_000)
      .describe('Tokens that these may use together, in and out. One that names no budget gets an equal share. 0: no limit.'),
    mcp_isolation: z
      .strictObject({
        dispatch_subagent: isolation.default('per-subagent').describe('Of those that dispatch_subagent begins.'),
        spawn: isolation.default('shared').describe('Of those that spawn begins.'),
      })
      .prefault({})
      .describe(
        'Whether a sub-agent shares the sessions that this gateway has with its MCP servers, or has sessions of its own, which end with it. By the tool that begins it.',
      ),
  })
  .prefault({})
  .describe('Limits of sub-agents. All of it applies without a restart.');
