/**
 * Whether a structured result is what its tool promised. Schema and result are both the server's own words:
 * a validator that compiles schemas would run its patterns, and would follow its references without an end.
 * So this reads the keywords that say what a result is made of, counts its steps, and runs no pattern.
 */

/** For one result. */
const MAX_STEPS = 200_000;

type Schema = Readonly<Record<string, unknown>>;

class OutOfSteps extends Error {}

/** Undefined = it fits; else what is wrong, in words. */
export function outputProblem(schema: Schema, value: unknown): string | undefined {
  try {
    return new Check(schema).problem(schema, value, '');
  } catch (error) {
    if (error instanceof OutOfSteps || error instanceof RangeError) return 'it is too large to be checked';
    throw error;
  }
}

class Check {
  readonly #root: Schema;
  #steps = 0;

  constructor(root: Schema) {
    this.#root = root;
  }

  problem(schema: unknown, value: unknown, path: string): string | undefined {
    this.#steps += 1;
    if (this.#steps > MAX_STEPS) throw new OutOfSteps();
    if (schema === true || schema === undefined) return undefined;
    if (!isObject(schema)) return `${place(path)} is not foreseen`;
    const { $ref: ref } = schema;
    if (typeof ref === 'string') {
      const problem = this.problem(this.#target(ref), value, path);
      if (problem) return problem;
    }
    return (
      typeProblem(schema, value, path) ??
      this.#composed(schema, value, path) ??
      (isObject(value) ? this.#members(schema, value, path) : undefined) ??
      (Array.isArray(value) ? this.#items(schema, value, path) : undefined)
    );
  }

  #composed(schema: Schema, value: unknown, path: string): string | undefined {
    for (const each of listOf(schema['allOf'])) {
      const problem = this.problem(each, value, path);
      if (problem) return problem;
    }
    for (const key of ['anyOf', 'oneOf']) {
      const variants = listOf(schema[key]);
      if (variants.length > 0 && variants.every((each) => this.problem(each, value, path) !== undefined))
        return `${place(path)} is none of what it may be`;
    }
    return undefined;
  }

  #members(schema: Schema, value: Schema, path: string): string | undefined {
    const missing = listOf(schema['required']).find((key) => typeof key === 'string' && !Object.hasOwn(value, key));
    if (missing !== undefined) return `${place(path)} has no ${JSON.stringify(missing)}`;
    const known = isObject(schema['properties']) ? schema['properties'] : {};
    const others = isObject(schema['patternProperties']) ? true : schema['additionalProperties'];
    for (const [key, member] of Object.entries(value)) {
      const expected = Object.hasOwn(known, key) ? known[key] : others;
      const problem = this.problem(expected, member, `${path}.${key}`);
      if (problem) return problem;
    }
    return undefined;
  }

  #items(schema: Schema, value: readonly unknown[], path: string): string | undefined {
    const first = listOf(schema['prefixItems']);
    for (const [at, item] of value.entries()) {
      const problem = this.problem(at < first.length ? first[at] : schema['items'], item, `${path}[${at}]`);
      if (problem) return problem;
    }
    return undefined;
  }

  #target(ref: string): unknown {
    const steps = ref.split('/').slice(1);
    if (ref !== '#' && !ref.startsWith('#/')) return false;
    const names = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
    return names.reduce<unknown>(
      (node, name) => (typeof node === 'object' && node !== null && Object.hasOwn(node, name) ? Reflect.get(node, name) : false),
      this.#root,
    );
  }
}

function typeProblem(schema: Schema, value: unknown, path: string): string | undefined {
  const types = typeof schema['type'] === 'string' ? [schema['type']] : listOf(schema['type']);
  if (types.length > 0 && !types.some((type) => isOfType(value, type)))
    return `${place(path)} is not of type ${types.join(' or ')}`;
  if (Object.hasOwn(schema, 'const') && !isSame(schema['const'], value)) return `${place(path)} is not what it always is`;
  const { enum: choices } = schema;
  if (Array.isArray(choices) && !choices.some((each) => isSame(each, value))) return `${place(path)} is none of its choices`;
  return undefined;
}

/** Enough for constants; what is larger is compared by its JSON. */
function isSame(left: unknown, right: unknown): boolean {
  return left === right || (typeof left === 'object' && left !== null && JSON.stringify(left) === JSON.stringify(right));
}

function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function place(path: string): string {
  return path === '' ? 'it' : path.replace(/^\./, '').slice(0, 100);
}
