import { z } from 'zod';

const seconds = z.int().min(1).max(86_400);

/** Work in the background: tasks, and what runs begin for themselves (spec P9 to P16, P49). */
export const tasksSection = z
  .strictObject({
    max_running: z
      .int()
      .min(1)
      .max(1_000)
      .default(5)
      .describe(
        'Tasks and sub-agents that may run at the same time, at most half of gateway.max_concurrent_sessions: conversations always have the rest.',
      ),
    keep_days: z.int().min(1).max(3_650).default(30).describe('Days that a task is kept once it is over, with its result.'),
    max_iterations: z
      .int()
      .min(1)
      .max(1_000)
      .default(10)
      .describe('Model calls of one task. It is told to come to an end from four fifths of them on.'),
    step_timeout_secs: seconds.default(300).describe('Longest that one model call may take with the tools it asks for.'),
    timeout_secs: seconds.default(1_800).describe('Longest that a task may run, without the time in which it waits.'),
    max_parallel_tool_calls: z
      .int()
      .min(1)
      .max(64)
      .default(5)
      .describe('Tool calls of one model answer that run; the model is told of the others that they were skipped.'),
    max_tokens: z
      .int()
      .min(1)
      .optional()
      .describe(
        'Tokens in and out that one task may use with its sub-agents; it is told at four fifths, and ended at all of them. Default: unlimited.',
      ),
    notify: z
      .record(z.string().min(1), z.strictObject({ channel: z.string().min(1), chat_id: z.string().min(1) }))
      .default({})
      .describe(
        'By "channel:sender id" of a person: the chat that their tasks answer in where the one they were asked for in cannot be reached. Default for you: the first of gateway.owner.',
      ),
  })
  .prefault({})
  .describe('Tasks: work that goes on in the background until it is done. See docs/tasks.md.');
