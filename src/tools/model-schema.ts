/** The schema of a foreign tool's arguments -> the form of it that every provider takes. */
import { canonicalJson } from '../lib/canonical-json.ts';
import { pointedAt } from './schema-pointer.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Values, whatever is in them. */
const VALUES: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);
/** Schemas by names that the author chose. */
const NAMED: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', '$defs', 'definitions'],
  ...['dependencies', 'dependentSchemas', 'dependentRequired'],
]);
/** Refused at the top. What their members name becomes part of the whole. */
const NOT_FIRST: ReadonlySet<string> = new Set(['$schema', '$ref', 'anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const']);
/** Flags in draft-03 and draft-04; a list and numbers since. */
const ONCE_FLAGS: ReadonlySet<string> = new Set(['required', 'exclusiveMinimum', 'exclusiveMaximum']);

/** By what it was made of: tools are made anew for each run, and tokens are counted once for each object. */
const made = new WeakMap<Schema, Schema>();

/**
 * Allows at least what `schema` allows: what runs the tool checks each call itself. For a form of an older
 * draft, a list without `items`, no `properties`, or variants at the top, providers refuse the whole request
 * with all tools in it. Takes only what `schemaProblem` lets pass.
 */
export function modelSchema(schema: Schema): Schema {
  const known = made.get(schema);
  if (known) return known;
  const required = requiredOf(schema);
  const others = Object.entries(schema).filter(([key]) => !NOT_FIRST.has(key) && key !== 'required');
  const whole = {
    ...Object.fromEntries(others),
    properties: Object.fromEntries([...propertiesOf(schema)].map(([name, all]) => [name, anyOf(all)])),
    ...(required.length > 0 ? { required } : {}),
  };
  const current = changed(whole, toCurrentDraft);
  const result = changed(current, (part) => withoutLostReference(part, current));
  made.set(schema, result);
  return result;
}

/** What an object may have, by the schema and by all that it is composed of. */
function propertiesOf(schema: Schema): ReadonlyMap<string, readonly unknown[]> {
  const properties = new Map<string, unknown[]>();
  // Grows as it is gone through. Each part is looked at once: it may refer to itself.
  const parts = new Set([schema]);
  for (const part of parts) {
    for (const next of ['allOf', 'anyOf', 'oneOf'].flatMap((key) => listOf(part[key]))) if (isSchema(next)) parts.add(next);
    const target = targetOf(part, schema);
    if (target) parts.add(target);
    for (const [name, one] of Object.entries(isSchema(part['properties']) ? part['properties'] : {})) {
      const ones = properties.get(name) ?? [];
      ones.push(one);
      properties.set(name, ones);
    }
  }
  return properties;
}

/** What it must have, as far as its first parts say it: all of them, or each of its variants. */
function requiredOf(schema: Schema): readonly unknown[] {
  const namesIn = (part: Schema | undefined) => listOf(part?.['required']);
  // A part that is a reference counts as what it refers to, and once.
  const parts = (key: string) => [
    ...new Set(
      listOf(schema[key])
        .filter(isSchema)
        .map((part) => targetOf(part, schema) ?? part),
    ),
  ];
  const each = ['anyOf', 'oneOf'].flatMap((key) => {
    const [first = [], ...rest] = parts(key).map(namesIn);
    return rest.map((names) => new Set(names)).reduce((left, right) => left.filter((name) => right.has(name)), first);
  });
  return [...new Set([...[schema, targetOf(schema, schema), ...parts('allOf')].flatMap(namesIn), ...each])];
}

function targetOf({ $ref: ref }: Schema, root: Schema): Schema | undefined {
  const target = typeof ref === 'string' ? pointedAt(ref, root) : undefined;
  return isSchema(target) ? target : undefined;
}

/** The schema with each part of it, and then itself, changed. */
function changed(schema: Schema, change: (part: Schema) => Schema): Schema {
  const within = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(within);
    return isSchema(value) ? changed(value, change) : value;
  };
  const partOf = (key: string, value: unknown): unknown => {
    if (VALUES.has(key)) return value;
    if (!NAMED.has(key)) return within(value);
    return isSchema(value) ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, within(one)])) : {};
  };
  return change(Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, partOf(key, value)])));
}

/** Schemas by place become one for any place: not every provider knows `prefixItems`. */
function toCurrentDraft(schema: Schema): Schema {
  const { items, prefixItems, additionalItems, ...others } = schema;
  const flags = Object.entries(others).filter(([key, value]) => ONCE_FLAGS.has(key) && typeof value === 'boolean');
  const kept = Object.fromEntries(Object.entries(others).filter(([key]) => !flags.some(([flag]) => flag === key)));
  const isList = items !== undefined || prefixItems !== undefined || [schema['type']].flat().includes('array');
  if (!isList) return kept;
  const rest = Array.isArray(items) ? additionalItems : items;
  return { ...kept, items: anyOf([...listOf(prefixItems), ...listOf(items), ...(isSchema(rest) ? [rest] : [])]) };
}

/** What it refers to may be elsewhere in this form. */
function withoutLostReference(schema: Schema, root: Schema): Schema {
  const { $ref: ref, ...others } = schema;
  return typeof ref === 'string' && pointedAt(ref, root) === undefined ? others : schema;
}

/** Anything, where there is none. Those that are alike count once. */
function anyOf(schemas: readonly unknown[]): unknown {
  const different = [...new Map(schemas.map((one) => [canonicalJson(one), one])).values()];
  if (different.length === 0) return {};
  return different.length === 1 ? different[0] : { anyOf: different };
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
