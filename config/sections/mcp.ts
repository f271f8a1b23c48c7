import { z } from 'zod';
import { isBlockedVariable } from '../../src/lib/blocked-variables.ts';
import { environmentName } from '../../src/lib/environment-name.ts';
import { mcpOAuth, oauthProblems } from './mcp-oauth.ts';
import { baseUrl } from './model.ts';

const SERVER_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?$/;

export function isServerName(name: string): boolean {
  return SERVER_NAME.test(name);
}

/** What a connection is made of is not the operator's to say. */
const OWN_HEADERS = /^(?:accept|host|connection|content-.*|transfer-encoding|mcp-.*|last-event-id|cookie2?|proxy-.*)$/i;

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/, { error: 'must be a header name' })
  .refine((name) => !OWN_HEADERS.test(name), { error: 'is set by Gatehouse itself' });

const variable = environmentName.refine((name) => !isBlockedVariable(name), {
  error: 'makes a program run other code, so no program is given it',
});

/** Entry of a list of tools: a name as the server has it, or its beginning and `*`. */
const toolEntry = z
  .string()
  .regex(/^[^*]{1,128}\*?$|^\*$/, { error: 'must be the name of a tool, or its beginning and "*"' })
  .regex(/^(?!mcp__|group:)/, {
    error: 'must be the name of a tool as the server names it, without what tool_policy has before it',
  });

const entry = z.strictObject({
  command: z
    .string()
    .min(1)
    .max(4_000)
    // It is started in a directory of its own, where nothing is.
    .regex(/^\/|^[^/]+$/, { error: 'must be the name of a program in PATH, or an absolute path' })
    .optional()
    .describe('Program to start, for a server that speaks on standard input and output.'),
  args: z.array(z.string().max(8_000)).max(100).default([]).describe('Its arguments. No shell sees them. No place for a key.'),
  env: z
    .array(variable)
    .max(50)
    .default([])
    .describe(
      'Names of the environment variables that the program is given, beside PATH, HOME, LANG and TZ. It is given no others, so list that of its key here.',
    ),
  cwd: z
    .string()
    .regex(/^\//, { error: 'must be an absolute path' })
    .optional()
    .describe('Directory to start it in. Default: an empty one of its own in the data directory.'),
  url: baseUrl.optional().describe('Address of a server that speaks streamable HTTP.'),
  bearer_env: environmentName.optional().describe('Name of the variable whose value is sent as `Authorization: Bearer`.'),
  headers_env: z
    .record(headerName, environmentName)
    .default({})
    .describe('Further headers: by the name of each, the name of the variable that holds its value.'),
  oauth: mcpOAuth.optional(),
  allow_private: z
    .boolean()
    .default(false)
    .describe('The address may be on this machine or in a private network. Without it, such an address is refused.'),
  enabled: z.boolean().default(true).describe('false: it is not started, and what was approved stays.'),
  timeout_secs: z
    .number()
    .min(1)
    .max(3600)
    .default(60)
    .describe('Longest call without a sign of progress. With progress a call may last ten times as long.'),
  pin: z
    .enum(['approve', 'first-use'])
    .default('approve')
    .describe(
      'approve: a tool is offered once `gatehouse mcp approve` has seen its words. first-use: the tools that the server has at its first start count as approved. What changes later is not offered until approved, either way.',
    ),
  tools: z
    .strictObject({
      allow: z.array(toolEntry).max(200).default([]).describe('Tools that are offered, as the server names them. Empty: all.'),
      deny: z.array(toolEntry).max(200).default([]).describe('Tools that are not offered. Goes before allow.'),
    })
    .prefault({})
    .describe('Which of its tools are offered.'),
  elicitation: z
    .enum(['ask', 'refuse'])
    .default('ask')
    .describe(
      'ask: what the server asks in the middle of a call is put to the person whom the call is made for, as a question in their chat. refuse: the server is told no.',
    ),
  trust_annotations: z
    .boolean()
    .default(false)
    .describe('Believe the server where it says of a tool that it changes nothing (readOnlyHint).'),
});

type Entry = z.output<typeof entry>;

/** Keys that only one of the two kinds of server has. */
const OF_PROGRAM = ['args', 'env', 'cwd'] as const;
const OF_ADDRESS = ['bearer_env', 'headers_env', 'oauth', 'allow_private'] as const;

function checkKind(server: Entry, context: z.RefinementCtx<Entry>): void {
  const { command, url } = server;
  const issue = (path: readonly PropertyKey[], message: string, hint: string): void => {
    context.addIssue({ code: 'custom', path: [...path], message, params: { hint } });
  };
  if ((command === undefined) === (url === undefined)) {
    if (url === undefined) issue([], 'says neither how to start the server nor where it is', 'add "command", or "url"');
    else issue(['url'], 'stands beside "command": a server is started or called, not both', 'keep one of the two');
    return;
  }
  for (const key of command === undefined ? OF_PROGRAM : OF_ADDRESS) {
    const value = server[key];
    const isGiven = typeof value === 'object' ? Object.keys(value).length > 0 : value !== undefined && value !== false;
    if (isGiven) issue([key], `does nothing beside ${command === undefined ? '"url"' : '"command"'}`, 'remove it');
  }
  for (const { path, message, hint } of oauthProblems(server)) issue(path, message, hint);
}

/** Section `mcp_servers` (spec G9). */
export const mcpServers = z
  .record(
    z.string().regex(SERVER_NAME, { error: 'must be letters, digits or "-", at most 32, and begin and end without "-"' }),
    entry.superRefine(checkKind),
  )
  .refine((servers) => Object.keys(servers).length <= 32, { error: 'at most 32 servers' })
  .refine((servers) => new Set(Object.keys(servers).map((name) => name.toLowerCase())).size === Object.keys(servers).length, {
    error: 'two names differ only in upper and lower case',
  })
  .default({})
  .describe(
    'MCP servers, by a name of your own each. A tool is offered as mcp__NAME__TOOL, to people other than you where tool_policy names it. Applies without a restart.',
  );

export type McpServerEntry = Entry;
