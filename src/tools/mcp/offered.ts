/** What a server lists -> the tools that a model can be offered, and why the others cannot. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { isDeep } from '../../lib/json-depth.ts';
import { oneLine } from '../../lib/one-line.ts';
import { visibleText } from '../../lib/visible-text.ts';
import { modelSchema } from '../model-schema.ts';
import { isReservedName } from '../reserved-names.ts';
import { schemaProblem } from '../schema-problem.ts';

/** UTF-16 units. A description is sent with each call of a model. */
const MAX_DESCRIPTION = 2_000;
/** What all providers take as the name of a tool. */
const MAX_NAME = 64;
/** Longest name that a reason repeats. */
const MAX_SHOWN = 100;

/** A tool of a server, as the server has it and as a model is told of it. */
export interface ServerTool {
  /** The server's own name for it. */
  readonly name: string;
  /** `mcp__server__tool`. */
  readonly id: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** The server says that it changes nothing. */
  readonly isReadOnly: boolean;
  /** SHA-256 of all that the server says of it, hexadecimal: what an approval is for. */
  readonly digest: string;
}

export interface SkippedTool {
  /** In one line and bounded: it may be anything. */
  readonly name: string;
  readonly reason: string;
}

export interface Offered {
  readonly tools: readonly ServerTool[];
  readonly skipped: readonly SkippedTool[];
}

const object = z.record(z.string(), z.unknown());
const listed = z.object({
  name: z.string().min(1).max(128),
  description: z.string().default(''),
  inputSchema: object,
  outputSchema: object.optional(),
  annotations: z.object({ readOnlyHint: z.boolean().optional() }).optional(),
});

export function offeredTools(server: string, list: readonly unknown[]): Offered {
  const tools = new Map<string, ServerTool>();
  const skipped: SkippedTool[] = [];
  const twice = new Set<string>();
  for (const item of list) {
    const judged = judge(server, item);
    if ('reason' in judged) skipped.push(judged);
    else if (tools.has(judged.id)) twice.add(judged.id);
    else tools.set(judged.id, judged);
  }
  // Which of the two was meant cannot be known, so neither is offered.
  for (const id of twice) {
    skipped.push({ name: tools.get(id)?.name ?? id, reason: `the server has two tools of the name ${id}` });
    tools.delete(id);
  }
  return { tools: [...tools.values()], skipped };
}

/** `mcp__server__tool`: of letters, digits, `_` and `-`, at most 64 of them. */
export function toolId(server: string, name: string): string {
  const id = `mcp__${server}__${name.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`;
  return id.length <= MAX_NAME ? id : `${id.slice(0, MAX_NAME - 9)}_${hash('sha256', name).slice(0, 8)}`;
}

function judge(server: string, item: unknown): ServerTool | SkippedTool {
  const named = z.object({ name: z.string() }).safeParse(item);
  const name = named.success ? named.data.name : '';
  const skip = (reason: string): SkippedTool => ({ name: oneLine(name, MAX_SHOWN), reason });
  // Before anything that goes down into it.
  if (isDeep(item)) return skip('what the server says of it is nested too deeply');
  const parsed = listed.safeParse(item);
  if (!parsed.success)
    return skip(`what the server says of it is not valid: ${parsed.error.issues[0]?.path.join('.') || 'no object'}`);
  const { description, inputSchema, outputSchema, annotations } = parsed.data;
  if (
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(name) ||
    visibleText(name) !== name ||
    name.trim() !== name
  )
    return skip('its name holds characters that people cannot see');
  if (isReservedName(name)) return skip('its name is that of a tool of Gatehouse itself');
  for (const [what, schema] of [
    ['arguments', inputSchema],
    ['results', outputSchema],
  ] as const) {
    const problem = schema && schemaProblem(schema);
    if (problem) return skip(`the schema of its ${what} ${problem}`);
  }
  if (inputSchema['type'] !== 'object') return skip('the schema of its arguments is not that of an object');
  return {
    ...{ name, id: toolId(server, name) },
    description: shortened(visibleText(description).trim()),
    // Made for what is used alone: a list may have hundreds that no person approves.
    get parameters() {
      return modelSchema(inputSchema);
    },
    ...(outputSchema ? { outputSchema } : {}),
    isReadOnly: annotations?.readOnlyHint === true,
    digest: hash('sha256', canonicalJson(item)),
  };
}

function shortened(text: string): string {
  return text.length <= MAX_DESCRIPTION ? text : `${text.slice(0, MAX_DESCRIPTION).toWellFormed()}…`;
}
