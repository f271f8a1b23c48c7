import { z } from 'zod';
import { CLIENT_NAME } from '../../src/core/mcp-client.ts';

const entries = z.array(z.string().min(1).max(200)).max(1_000).default([]);

const chat = z.strictObject({
  channel: z.string().min(1).describe('Name of the channel, as in "channels".'),
  chat_id: z.string().min(1).describe('Id of the chat on that platform.'),
});

const entry = z.strictObject({
  chats: z
    .array(chat)
    .max(100)
    .default([])
    .describe(
      'Chats whose conversation with the agent it may read, and which it may write to. Empty: none. With one, what it asks for counts as private as well.',
    ),
  mode: z
    .enum(['read-only', 'guarded'])
    .default('guarded')
    .describe(
      "What the agent does for it without a question to you. read-only: it changes nothing, and nothing is sent to a chat. guarded: it changes files of the workspace that is the client's own.",
    ),
  allow: entries.describe(
    'Tools that the agent may use for it: these and no others, entries as in tool_policy. Empty: those that people you listed may use.',
  ),
  deny: entries.describe('Tools that the agent may not use for it, whatever else allows them.'),
  model: z.string().min(1).optional().describe('Name in "models" of the model that answers it. Default: the main one.'),
});

/** Section `mcp_clients`. */
export const mcpClients = z
  .record(
    z.string().regex(CLIENT_NAME, { error: 'must be letters, digits, "-" or "_", at most 32, and begin and end with neither' }),
    entry,
  )
  .refine((clients) => Object.keys(clients).length <= 32, { error: 'at most 32 clients' })
  .refine((clients) => new Set(Object.keys(clients).map((name) => name.toLowerCase())).size === Object.keys(clients).length, {
    error: 'two names differ only in upper and lower case',
  })
  .default({})
  .describe(
    'Programs of yours that may ask the agent as MCP clients, by a name of your own each: `gatehouse mcp serve --as NAME`. What they send is never trusted. Applies without a restart.',
  );

export type McpClientEntry = z.output<typeof entry>;
