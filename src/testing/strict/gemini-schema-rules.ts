/**
 * Rules for function declarations: the `Schema` message (https://ai.google.dev/api/caching#Schema) has these
 * fields and no others. The texts are those of the API as users reported them, among them
 * https://github.com/zed-industries/zed/issues/44875.
 */
import { invalidField, unknownField } from './gemini-shapes.ts';
import { firstOf, type Json, record, records } from './json-shapes.ts';
import type { Refusal } from './strict-server.ts';

const FIELDS = new Set(
  (
    'type format title description nullable enum maxItems minItems properties required minProperties maxProperties minLength ' +
    'maxLength pattern example anyOf propertyOrdering default items minimum maximum'
  ).split(' '),
);
const TYPES = ['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL'];
const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/;

export function checkTools(tools: unknown): Refusal | undefined {
  return firstOf(
    records(tools).flatMap((tool, at) =>
      records(tool['functionDeclarations']).map((declaration, nth) =>
        checkFunction(declaration, `tools[${at}].function_declarations[${nth}]`),
      ),
    ),
  );
}

function checkFunction({ name, parameters }: Json, path: string): Refusal | undefined {
  if (!NAME.test(String(name ?? ''))) {
    return invalidField(
      `${path}.name`,
      'Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.',
    );
  }
  if (parameters === undefined) return undefined;
  const here = `${path}.parameters`;
  return checkFields(record(parameters), here) ?? checkSchema(record(parameters), here);
}

/** Fields first, in the whole tree: the request is read before it is judged. */
function checkFields(schema: Json, path: string): Refusal | undefined {
  const unknown = Object.keys(schema).find((key) => !FIELDS.has(key));
  if (unknown !== undefined) return unknownField(unknown, path);
  if (Array.isArray(schema['type'])) return unknownField('type', path, 'Proto field is not repeating, cannot start list.');
  return firstOf([
    ...Object.values(record(schema['properties'])).map((property, at) =>
      checkFields(record(property), `${path}.properties[${at}].value`),
    ),
    ...records(schema['anyOf']).map((choice, at) => checkFields(choice, `${path}.any_of[${at}]`)),
    ...(schema['items'] === undefined ? [] : [checkFields(record(schema['items']), `${path}.items`)]),
  ]);
}

function checkSchema(schema: Json, path: string): Refusal | undefined {
  const type = String(schema['type'] ?? '').toUpperCase();
  const properties = record(schema['properties']);
  if (schema['anyOf'] === undefined && !TYPES.includes(type)) {
    return invalidField(`${path}.type`, "schema didn't specify the schema type field");
  }
  if (type === 'OBJECT' && Object.keys(properties).length === 0) {
    return invalidField(`${path}.properties`, 'should be non-empty for OBJECT type');
  }
  if (type === 'ARRAY' && schema['items'] === undefined) return invalidField(`${path}.items`, 'missing field.');
  return firstOf(
    (function* () {
      yield checkEnum(schema['enum'], type, path);
      yield checkFormat(schema['format'], type, path);
      for (const [at, name] of (Array.isArray(schema['required']) ? schema['required'] : []).entries()) {
        if (!Object.hasOwn(properties, String(name))) yield invalidField(`${path}.required[${at}]`, 'property is not defined');
      }
      for (const [name, property] of Object.entries(properties))
        yield checkSchema(record(property), `${path}.properties[${name}]`);
      for (const [at, choice] of records(schema['anyOf']).entries()) yield checkSchema(choice, `${path}.any_of[${at}]`);
      if (schema['items'] !== undefined) yield checkSchema(record(schema['items']), `${path}.items`);
    })(),
  );
}

function checkEnum(values: unknown, type: string, path: string): Refusal | undefined {
  if (!Array.isArray(values)) return undefined;
  if (type !== 'STRING') return invalidField(`${path}.enum`, 'only allowed for STRING type');
  const empty = values.indexOf('');
  return empty === -1 ? undefined : invalidField(`${path}.enum[${empty}]`, 'cannot be empty');
}

/** https://github.com/google-gemini/gemini-cli/issues/2237 */
function checkFormat(format: unknown, type: string, path: string): Refusal | undefined {
  if (format === undefined || type !== 'STRING' || format === 'enum' || format === 'date-time') return undefined;
  return invalidField(`${path}.format`, "only 'enum' and 'date-time' are supported for STRING type");
}
