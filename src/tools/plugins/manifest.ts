// bytes of plugin.json -> what the plugin says of itself, or why it is refused
import { z } from 'zod';
import { hooksSection } from '../../../config/sections/hooks.ts';
import { type McpServerEntry, mcpServers } from '../../../config/sections/mcp.ts';
import { GatehouseError } from '../../core/errors.ts';
import { isKnownEntry } from '../../core/tool-groups.ts';
import { isBlockedVariable } from '../../lib/blocked-variables.ts';
import { environmentName } from '../../lib/environment-name.ts';
import { isDeep } from '../../lib/json-depth.ts';
import { oneLine } from '../../lib/one-line.ts';
import { visibleText } from '../../lib/visible-text.ts';
import { isReservedName } from '../reserved-names.ts';
import { schemaProblem } from '../schema-problem.ts';

export const MANIFEST = 'plugin.json';
export const MAX_MANIFEST_BYTES = 64 * 1024;
/** Of the manifest: a schema of ten levels lies four levels down. */
const MAX_DEPTH = 16;
/** What all providers take as the name of a tool. */
const MAX_TOOL_ID = 64;
/** What the ids of all tools of a server begin with: so much of an id that is too long stays the same. */
const MAX_SERVER_PREFIX = 56;
const MAX_TOOLS = 32;
/** What every program has already, and what Gatehouse sets itself. */
const OWN_VARIABLES = /^(?:PATH|HOME|LANG|TERM|TZ|PWD|SHELL|USER|IFS|GATEHOUSE_.*|GIT_.*|BASH_.*|LC_.*|XDG_.*)$/i;

/** Letters and digits of ASCII alone: no name can look like another one. */
const pluginName = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/, {
    error: 'must be small letters, digits or "-", at most 32, and begin and end without "-"',
  })
  .refine((name) => !isReservedName(name) && !['mcp', 'plugin', 'builtin', 'gatehouse'].includes(name), {
    error: 'is the name of a part of Gatehouse itself',
  });

const toolName = z
  .string()
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,50}[A-Za-z0-9])?$/, {
    error: 'must be letters, digits, "_" or "-", at most 52, and begin and end with a letter or digit',
  })
  .refine((name) => !isReservedName(name), { error: 'is the name of a tool of Gatehouse itself' });

const words = (most: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most)
    .refine((text) => visibleText(text) === text, { error: 'holds characters that people cannot see' });

const schema = z.record(z.string(), z.unknown()).superRefine((value, context) => {
  const problem = value['type'] === 'object' ? schemaProblem(value) : 'is not that of an object';
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
});

const tool = z.strictObject({
  name: toolName,
  description: words(2_000),
  input_schema: schema,
  /** What a call changes, as the plugin says; the operator may believe it. */
  effect: z.enum(['none', 'workspace', 'outside']).default('outside'),
});

const variable = environmentName
  .refine((name) => !isBlockedVariable(name), { error: 'makes a program run other code, so no program is given it' })
  .refine((name) => !OWN_VARIABLES.test(name), { error: 'is not a plugin’s to ask for' });

/** What a plugin starts outside the sandbox is a file of its own, so that the digest covers it. */
const OWN_FILE = /^\.\/(?!\.)[A-Za-z0-9._-]+(?:\/(?!\.)[A-Za-z0-9._-]+)*$/;
const NO_TOOL = 'is no tool, no beginning of one and no group';
const NOT_OWN = 'must begin with "./" and name a file of the plugin';
/** Keys of a server that are the operator's to say. */
const OF_OPERATOR = ['pin', 'trust_annotations', 'allow_private', 'cwd', 'enabled'] as const;

const servers = z.unknown().transform((value, context): Readonly<Record<string, McpServerEntry>> => {
  const issue = (path: PropertyKey[], message: string): void => context.addIssue({ code: 'custom', path, message });
  for (const [name, entry] of Object.entries(value ?? {}))
    for (const key of OF_OPERATOR)
      if (typeof entry === 'object' && entry !== null && Object.hasOwn(entry, key))
        issue([name, key], 'is the operator’s to say, not a plugin’s');
  for (const [name, command] of commandsIn(value)) if (!OWN_FILE.test(command)) issue([name, 'command'], NOT_OWN);
  // The config takes absolute paths: from the plugin's directory on, these are.
  const own = commandsIn(value).map(([name, command, entry]) => [name, { ...entry, command: command.slice(1) }] as const);
  const parsed = mcpServers.safeParse(isRecord(value) ? { ...value, ...Object.fromEntries(own) } : value);
  for (const { path, message } of parsed.error?.issues ?? []) issue(path, message);
  const written = (entry: McpServerEntry): McpServerEntry =>
    entry.command === undefined ? entry : { ...entry, command: `.${entry.command}` };
  return Object.fromEntries(Object.entries(parsed.data ?? {}).map(([name, entry]) => [name, written(entry)]));
});

function commandsIn(value: unknown): readonly (readonly [server: string, command: string, entry: object])[] {
  return Object.entries(isRecord(value) ? value : {}).flatMap(([name, entry]) =>
    isRecord(entry) && typeof entry['command'] === 'string' ? [[name, entry['command'], entry] as const] : [],
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const hooks = hooksSection.superRefine((all, context) => {
  for (const [at, { command, tool_filter: filter }] of all.entries()) {
    if (!OWN_FILE.test(command[0] ?? '')) context.addIssue({ code: 'custom', path: [at, 'command', 0], message: NOT_OWN });
    for (const [nth, entry] of filter.entries())
      if (!isKnownEntry(entry)) context.addIssue({ code: 'custom', path: [at, 'tool_filter', nth], message: NO_TOOL });
  }
});

const manifest = z.strictObject({
  name: pluginName,
  version: words(64),
  description: words(2_000),
  tools: z.array(tool).max(MAX_TOOLS).default([]),
  /** Of the executable. */
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/i, { error: 'must be 64 hexadecimal digits' })
    .toLowerCase()
    .optional(),
  /** Programs that it calls. */
  binaries: z
    .array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/, { error: 'must be the name of a program' }), {
      error: 'must be a list of names of programs; nothing is downloaded for a plugin',
    })
    .max(32)
    .default([]),
  requires_network: z.boolean().default(false),
  /** Longest call. */
  timeout_secs: z.number().min(1).max(3_600).default(600),
  /** Variables whose values it is given. */
  env: z.array(variable).max(32).default([]),
  mcp_servers: servers.prefault({}),
  hooks,
  prompts: z
    .undefined({ error: 'plugins add no words to the prompt: say in the description of a tool what the model has to know' })
    .optional(),
});

export type Manifest = z.output<typeof manifest>;
export type ManifestTool = Manifest['tools'][number];

/** Rejects with GH2401, with every problem and its place. `bytes`: at most `MAX_MANIFEST_BYTES` are read. */
export function parseManifest(bytes: Uint8Array): Manifest {
  const parsed = manifest.safeParse(jsonOf(bytes));
  if (!parsed.success) {
    const problems = parsed.error.issues.slice(0, 5).map(({ path, message }) => `${path.join('.') || 'it'}: ${message}`);
    throw refused(`is not valid: ${oneLine(problems.join('; '), 1_000)}`);
  }
  const { name, tools, mcp_servers: ofPlugin } = parsed.data;
  const wide = Object.keys(ofPlugin).find((server) => `mcp__${name}_${server}__`.length > MAX_SERVER_PREFIX);
  if (wide !== undefined)
    throw refused(`names the server ${wide}: with the plugin's, that is longer than a rule of tool_policy can name`);
  const taken = new Set<string>();
  for (const one of tools) {
    const id = pluginToolId(name, one.name);
    if (id.length > MAX_TOOL_ID) throw refused(`names a tool that would be called ${id}, which is longer than ${MAX_TOOL_ID}`);
    if (taken.has(id.toLowerCase())) throw refused(`has two tools of the name ${one.name}`);
    taken.add(id.toLowerCase());
  }
  return parsed.data;
}

/**
 * The hooks of a manifest that was approved, by their places, also where a later version refuses other parts
 * of it: a hook may be there to refuse, and must not end with an update. Undefined = it cannot be asked.
 */
export function approvedHooks(bytes: Uint8Array): readonly (Manifest['hooks'][number] | undefined)[] {
  const value = jsonOf(bytes);
  const entries = isRecord(value) && Array.isArray(value['hooks']) ? value['hooks'] : [];
  return entries.map((entry) => {
    const { data } = hooksSection.unwrap().element.safeParse(entry);
    return data && OWN_FILE.test(data.command[0] ?? '') ? data : undefined;
  });
}

function jsonOf(bytes: Uint8Array): unknown {
  if (bytes.length > MAX_MANIFEST_BYTES) throw refused(`has more than ${MAX_MANIFEST_BYTES} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw refused('is no JSON in UTF-8', error);
  }
  // Before anything that goes down into it.
  if (isDeep(value, MAX_DEPTH)) throw refused(`is nested more than ${MAX_DEPTH} levels deep`);
  return value;
}

/** `plugin__NAME__TOOL`: the name has no `_`, so two plugins never have one name for a tool. */
export function pluginToolId(plugin: string, name: string): string {
  return `plugin__${plugin}__${name}`;
}

function refused(what: string, cause?: unknown): GatehouseError {
  return new GatehouseError('GH2401', `${MANIFEST} ${what}`, cause === undefined ? {} : { cause });
}
