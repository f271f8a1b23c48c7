import { asRecord } from './tool-call-assembly.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/** Keys of the API's `Schema` message that need no change (https://ai.google.dev/api/caching#Schema). All others answer with a 400. */
const KEPT = [
  'title',
  'description',
  'nullable',
  'default',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'pattern',
  'minimum',
  'maximum',
];
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  string: ['enum', 'date-time'],
  number: ['float', 'double'],
  integer: ['int32', 'int64'],
};
/** Bounds what a schema that refers to itself is written out to. */
const MAX_DEPTH = 12;

/**
 * A tool's JSON Schema (draft 2020-12) as far as Gemini understands it (spec B7): references written out, `oneOf` as `anyOf`,
 * `allOf` merged, `const` as `enum`, null as `nullable`, the rest of what it does not know left out. Undefined when the tool takes
 * nothing: an object without properties is refused.
 */
export function toGeminiSchema(parameters: JsonSchema): JsonSchema | undefined {
  const properties = asRecord(resolve(parameters, parameters)['properties']);
  return Object.keys(properties).length === 0 ? undefined : clean(parameters, parameters, 0);
}

function clean(schema: JsonSchema, root: JsonSchema, depth: number): JsonSchema {
  const whole = mergeAll(resolve(schema, root), root, depth);
  const types = typesOf(whole);
  const nullable = types.includes('null') || whole['nullable'] === true;
  const real = types.filter((type) => type !== 'null');
  const choices = listOf(whole['anyOf'] ?? whole['oneOf']).filter((choice) => choice['type'] !== 'null');
  const kept = Object.fromEntries(KEPT.filter((key) => whole[key] !== undefined).map((key) => [key, whole[key]]));
  if (nullable || choices.length < listOf(whole['anyOf'] ?? whole['oneOf']).length) kept['nullable'] = true;
  if (depth >= MAX_DEPTH) return { ...kept, type: real[0] ?? 'object' };
  if (choices.length === 1) return { ...kept, ...clean(choices[0] ?? {}, root, depth + 1) };
  // A type beside `anyOf` is refused.
  if (choices.length > 1) return { ...kept, anyOf: choices.map((choice) => clean(choice, root, depth + 1)) };
  if (real.length > 1) return { ...kept, anyOf: real.map((type) => ofType(type, whole, root, depth)) };
  return { ...kept, ...ofType(real[0] ?? 'string', whole, root, depth) };
}

function ofType(type: string, schema: JsonSchema, root: JsonSchema, depth: number): JsonSchema {
  const format = FORMATS[type]?.find((known) => known === schema['format']);
  const typed = { type, ...(format ? { format } : {}) };
  if (type === 'array') {
    const items = asRecord(Array.isArray(schema['prefixItems']) ? schema['prefixItems'][0] : schema['items']);
    return { ...typed, items: clean(items, root, depth + 1) };
  }
  if (type === 'object') return { ...typed, ...members(schema, root, depth) };
  const allowed = schema['const'] !== undefined ? [schema['const']] : schema['enum'];
  if (!Array.isArray(allowed)) return typed;
  const values = allowed.filter((value) => value !== null);
  if (type === 'string' && values.every((value) => typeof value === 'string' && value !== '')) return { ...typed, enum: values };
  // Only strings can be enumerated, and not the empty one.
  const said = typeof schema['description'] === 'string' ? `${schema['description']} ` : '';
  return { ...typed, description: `${said}One of: ${values.map((value) => JSON.stringify(value)).join(', ')}.` };
}

function members(schema: JsonSchema, root: JsonSchema, depth: number): JsonSchema {
  const properties = Object.entries(asRecord(schema['properties']));
  if (properties.length === 0) return {};
  const cleaned = Object.fromEntries(properties.map(([name, value]) => [name, clean(asRecord(value), root, depth + 1)]));
  // Requiring a property that is not there is refused.
  const required = Array.isArray(schema['required']) ? schema['required'].filter((name) => Object.hasOwn(cleaned, name)) : [];
  return { properties: cleaned, ...(required.length === 0 ? {} : { required }) };
}

/** Follows `$ref` inside the document; what stands beside it wins. An unknown reference accepts anything. */
function resolve(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let at = schema;
  for (let hops = 0; typeof at['$ref'] === 'string' && hops < MAX_DEPTH; hops += 1) {
    const { $ref, ...beside } = at;
    at = { ...lookUp(String($ref), root), ...beside };
  }
  return at;
}

function lookUp(pointer: string, root: JsonSchema): JsonSchema {
  if (!pointer.startsWith('#')) return {};
  const steps = pointer.split('/').slice(1);
  // RFC 6901: ~1 is a slash, ~0 a tilde.
  return steps.reduce((at, step) => asRecord(at[step.replaceAll('~1', '/').replaceAll('~0', '~')]), root);
}

function mergeAll(schema: JsonSchema, root: JsonSchema, depth: number): JsonSchema {
  if (!Array.isArray(schema['allOf']) || depth >= MAX_DEPTH) return schema;
  const { allOf, ...own } = schema;
  const parts = [...listOf(allOf), own].map((part) => mergeAll(resolve(part, root), root, depth + 1));
  const properties = Object.assign({}, ...parts.map((part) => asRecord(part['properties'])));
  const required = new Set(parts.flatMap((part) => (Array.isArray(part['required']) ? part['required'] : [])));
  return {
    ...Object.assign({}, ...parts),
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.size === 0 ? {} : { required: [...required] }),
  };
}

/** The `type` words; guessed from the other keys where none is given. */
function typesOf(schema: JsonSchema): string[] {
  const { type } = schema;
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.filter((one) => typeof one === 'string');
  if (schema['properties'] !== undefined) return ['object'];
  if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return ['array'];
  const value = schema['const'] ?? listValue(schema['enum']);
  return typeof value === 'number' || typeof value === 'boolean' ? [typeof value] : [];
}

function listValue(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined;
}

function listOf(value: unknown): JsonSchema[] {
  return Array.isArray(value) ? value.map(asRecord) : [];
}
