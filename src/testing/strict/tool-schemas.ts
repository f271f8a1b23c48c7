/**
 * What is refused of the schema of a tool's arguments. Texts of the APIs, as users reported them:
 * https://github.com/anthropics/claude-code/issues/7365 and 5878,
 * https://github.com/nspady/google-calendar-mcp/issues/39, https://github.com/mark3labs/mcphost/issues/88 and
 * https://github.com/ogx-ai/ogx/pull/3602.
 */
import { type Json, record } from './json-shapes.ts';

const COMPOSED = ['oneOf', 'anyOf', 'allOf'];
const NAMED = ['properties', 'patternProperties', '$defs', 'definitions'];
const NOT_FIRST = [...COMPOSED, 'enum', 'not'];

/** What Anthropic says behind `tools.0.custom.input_schema: `. */
export function anthropicSchemaProblem(schema: Json): string | undefined {
  if (COMPOSED.some((key) => schema[key] !== undefined))
    return 'input_schema does not support oneOf, allOf, or anyOf at the top level';
  if (partsOf(schema).every(({ part }) => isOf2020(part))) return undefined;
  return 'JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.';
}

/** What OpenAI says behind `Invalid schema for function 'NAME': `. Of older drafts it is a guess. */
export function openAiSchemaProblem(schema: Json): string | undefined {
  if (schema['type'] !== 'object' || NOT_FIRST.some((key) => schema[key] !== undefined))
    return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.";
  if (schema['properties'] === undefined) return 'In context=(), object schema missing properties.';
  for (const { part, path } of partsOf(schema)) {
    if (!isOf2020(part)) return `${JSON.stringify(part)} is not valid under any of the given schemas.`;
    if ([part['type']].flat().includes('array') && typeof part['items'] !== 'object')
      return `In context=(${path.map((step) => `'${step}'`).join(', ')}), array schema missing items.`;
  }
  return undefined;
}

/** Of the keywords that older drafts had in another form. */
function isOf2020(part: Json): boolean {
  const { items, required, exclusiveMinimum: above, exclusiveMaximum: below } = part;
  return (
    !Array.isArray(items) &&
    NAMED.every((key) => !Array.isArray(part[key])) &&
    (required === undefined || Array.isArray(required)) &&
    [above, below].every((bound) => bound === undefined || typeof bound === 'number')
  );
}

interface Part {
  readonly part: Json;
  readonly path: readonly (string | number)[];
}

/** The schema and all below it. */
function partsOf(part: Json, path: readonly (string | number)[] = []): Part[] {
  const below = [
    ...NAMED.flatMap((key) => Object.entries(record(part[key])).map(([name, one]) => [[key, name], one] as const)),
    ...['items', 'additionalProperties', 'not'].map((key) => [[key], part[key]] as const),
    ...[...COMPOSED, 'prefixItems'].flatMap((key) =>
      (Array.isArray(part[key]) ? part[key] : []).map((one: unknown, at) => [[key, at], one] as const),
    ),
  ];
  return [{ part, path }, ...below.flatMap(([steps, one]) => (isObject(one) ? partsOf(one, [...path, ...steps]) : []))];
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
