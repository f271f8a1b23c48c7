import { z } from 'zod';
import type { ModelAnswer, ToolSpec } from '../../core/model.ts';
import { asRecord } from '../protocols/tool-call-assembly.ts';

/** What an answer holds that was asked for as an object. */
export type Checked<T> =
  | { readonly ok: true; readonly object: T }
  /** `problems` are for the model that wrote the answer; `safe` say the same without a word of the answer, which may quote the prompt. */
  | { readonly ok: false; readonly problems: readonly string[]; readonly safe: readonly string[] };

/** Most problems that are told. */
const MAX_PROBLEMS = 10;
const WRAP = 'value';

export interface ObjectSchema<T> {
  /** JSON Schema (draft 2020-12) of what the model shall write as text. */
  readonly json: Readonly<Record<string, unknown>>;
  /** The tool whose arguments are the object; anything but an object is wrapped in one, because arguments always are one. */
  readonly tool: ToolSpec;
  check(answer: Pick<ModelAnswer, 'text' | 'toolCalls' | 'stop'>, by: 'tool' | 'text'): Promise<Checked<T>>;
}

/** Throws what zod throws for a type that JSON cannot hold (a Date, a Map). */
export function createObjectSchema<S extends z.ZodType>(
  schema: S,
  names: { readonly name: string; readonly description: string },
): ObjectSchema<z.output<S>> {
  const json = toJsonSchema(schema);
  const wrapped = json['type'] !== 'object';
  const parameters = wrapped ? toJsonSchema(z.object({ [WRAP]: schema })) : json;
  const known = propertyNames(json);
  return {
    json,
    tool: { ...names, parameters },
    async check(answer, by) {
      const found = by === 'tool' ? fromTool(answer, names.name) : fromText(answer.text);
      if (!found.ok) return answer.stop === 'length' ? cutOff() : found;
      const unwrap = wrapped && found.wrapped;
      if (unwrap && !(WRAP in asRecord(found.value))) return failed(`the arguments lack the key "${WRAP}"`);
      const result = await schema.safeParseAsync(unwrap ? asRecord(found.value)[WRAP] : found.value);
      if (result.success) return { ok: true, object: result.data };
      const issues = result.error.issues.slice(0, MAX_PROBLEMS);
      return {
        ok: false,
        problems: issues.map((issue) => `${issue.path.map(String).join('.') || 'the whole'}: ${issue.message}`),
        safe: issues.map((issue) => toSafe(issue, known)),
      };
    },
  };
}

/** `io: input`: the model writes what zod takes in, so that a default is optional and a transform starts from its source. */
function toJsonSchema(schema: z.ZodType): Readonly<Record<string, unknown>> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input', target: 'draft-2020-12' });
  return json;
}

type Found = { readonly ok: true; readonly value: unknown; readonly wrapped: boolean } | (Checked<never> & { ok: false });

function failed(problem: string, safe = problem): Checked<never> & { ok: false } {
  return { ok: false, problems: [problem], safe: [safe] };
}

function cutOff(): Checked<never> & { ok: false } {
  return failed('the answer was cut off at the output limit: write less');
}

function fromTool({ toolCalls, text }: Pick<ModelAnswer, 'text' | 'toolCalls'>, name: string): Found {
  const calls = toolCalls.filter((call) => call.name === name);
  const [call] = calls;
  if (call && calls.length === 1) return parse(call.arguments, `the arguments of ${name}`, true);
  if (calls.length > 1) return failed(`${name} was called ${calls.length} times instead of once`);
  // Servers without tool support ignore the tool, and their models write the object as text.
  const written = fromText(text);
  return written.ok ? { ...written, wrapped: WRAP in asRecord(written.value) } : failed(`${name} was not called`);
}

/** The whole text is JSON, or the only fenced block in it is. Nothing is searched for or mended: a guess would pass for an answer. */
function fromText(text: string): Found {
  const blocks = [...text.matchAll(/^[ \t]*(`{3,}|~{3,})[^\n`]*\n([\s\S]*?)\n?[ \t]*\1[ \t]*$/gm)].map((match) => match[2] ?? '');
  if (blocks.length > 1) return failed(`the answer has ${blocks.length} code blocks instead of one`);
  return parse(blocks[0] ?? text, 'the answer', false);
}

function parse(text: string, what: string, wrapped: boolean): Found {
  try {
    return { ok: true, value: JSON.parse(text), wrapped };
  } catch (error) {
    // The engine's message quotes the text.
    return failed(`${what} must be valid JSON: ${error instanceof Error ? error.message : ''}`, `${what} must be valid JSON`);
  }
}

/** Keys of records and unknown keys are the model's own words: only names that the schema has may be shown. */
function toSafe(issue: z.core.$ZodIssue, known: ReadonlySet<string>): string {
  const path = issue.path.map((part) => (typeof part === 'number' || known.has(String(part)) ? String(part) : '*')).join('.');
  const message = issue.code === 'unrecognized_keys' ? `${issue.keys.length} keys that the schema does not have` : issue.message;
  return `${path || 'the whole'}: ${message}`;
}

function propertyNames(json: unknown, found = new Set<string>()): ReadonlySet<string> {
  if (Array.isArray(json)) for (const item of json) propertyNames(item, found);
  else {
    for (const name of Object.keys(asRecord(asRecord(json)['properties']))) found.add(name);
    for (const value of Object.values(asRecord(json))) propertyNames(value, found);
  }
  return found;
}
