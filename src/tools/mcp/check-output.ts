/**
 * Whether a structured result is what its tool promised. Schema and result are both the server's own words:
 * a validator that compiles schemas would run its patterns, and would follow its references without an end.
 * So this reads the keywords that say what a result is made of, counts its steps, and runs no pattern.
 */
import { pointedAt } from '../schema-pointer.ts';

/** For one result: some 100 ms. A step is an entry of a list that is looked at. */
const MAX_STEPS = 1_200_000;
const SCHEMA_STEPS = 4;
/** So many characters that are written to be compared are a step. */
const STEP_CHARS = 5;
/** Longest part of a path or a name that a problem tells. UTF-16 units. */
const MAX_SHOWN = 100;

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
  /** By reference: one may have as many names as the schema has letters, and be followed for each item. */
  readonly #targets = new Map<string, unknown>();
  /** By object: to list them takes longer than to look at the first, and each variant may stop there. */
  readonly #names = new Map<Schema, readonly string[]>();
  /** By list: each choice is written once. */
  readonly #choices = new Map<readonly unknown[], ReadonlySet<string>>();
  #steps = 0;

  constructor(root: Schema) {
    this.#root = root;
  }

  problem(schema: unknown, value: unknown, path: string): string | undefined {
    this.#charge(SCHEMA_STEPS);
    if (schema === true || schema === undefined) return undefined;
    if (!isObject(schema)) return `${place(path)} is not foreseen`;
    const { $ref: ref } = schema;
    if (typeof ref === 'string') {
      const problem = this.problem(this.#target(ref), value, path);
      if (problem) return problem;
    }
    return (
      this.#typeProblem(schema, value, path) ??
      this.#choiceProblem(schema, value, path) ??
      this.#composed(schema, value, path) ??
      (isObject(value) ? this.#members(schema, value, path) : undefined) ??
      (Array.isArray(value) ? this.#items(schema, value, path) : undefined)
    );
  }

  /** Throws once the result has had its steps. */
  #charge(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw new OutOfSteps();
  }

  #typeProblem(schema: Schema, value: unknown, path: string): string | undefined {
    const types = typeof schema['type'] === 'string' ? [schema['type']] : listOf(schema['type']);
    this.#charge(types.length);
    if (types.length === 0 || types.some((type) => isOfType(value, type))) return undefined;
    const names = types.map((type) => (typeof type === 'string' ? type.slice(0, MAX_SHOWN) : 'unknown'));
    return `${place(path)} is not of type ${names.join(' or ')}`;
  }

  #choiceProblem(schema: Schema, value: unknown, path: string): string | undefined {
    const { enum: choices } = schema;
    const isBound = Object.hasOwn(schema, 'const');
    if (!isBound && !Array.isArray(choices)) return undefined;
    const written = this.#written(value);
    if (isBound && this.#written(schema['const']) !== written) return `${place(path)} is not what it always is`;
    const fits = !Array.isArray(choices) || this.#setOf(choices).has(written);
    return fits ? undefined : `${place(path)} is none of its choices`;
  }

  #setOf(choices: readonly unknown[]): ReadonlySet<string> {
    const set = this.#choices.get(choices) ?? new Set(choices.map((each) => this.#written(each)));
    this.#choices.set(choices, set);
    return set;
  }

  /** What two values are compared by. */
  #written(value: unknown): string {
    const json = JSON.stringify(value);
    this.#charge(1 + json.length / STEP_CHARS);
    return json;
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
    const required = listOf(schema['required']);
    this.#charge(required.length);
    const missing = required.find((key) => typeof key === 'string' && !Object.hasOwn(value, key));
    if (missing !== undefined) return `${place(path)} has no ${JSON.stringify(String(missing).slice(0, MAX_SHOWN))}`;
    const known = isObject(schema['properties']) ? schema['properties'] : {};
    const others = isObject(schema['patternProperties']) ? true : schema['additionalProperties'];
    for (const key of this.#namesOf(value)) {
      const expected = Object.hasOwn(known, key) ? known[key] : others;
      const problem = this.problem(expected, value[key], below(path, `.${key}`));
      if (problem) return problem;
    }
    return undefined;
  }

  #items(schema: Schema, value: readonly unknown[], path: string): string | undefined {
    // Before 2020-12 a list of `items` was what `prefixItems` is now.
    const isEarlier = Array.isArray(schema['items']);
    const first = listOf(schema[isEarlier ? 'items' : 'prefixItems']);
    const others = schema[isEarlier ? 'additionalItems' : 'items'];
    for (const [at, item] of value.entries()) {
      const problem = this.problem(at < first.length ? first[at] : others, item, below(path, `[${at}]`));
      if (problem) return problem;
    }
    return undefined;
  }

  #namesOf(value: Schema): readonly string[] {
    const names = this.#names.get(value) ?? Object.keys(value);
    this.#names.set(value, names);
    return names;
  }

  #target(ref: string): unknown {
    if (!this.#targets.has(ref)) this.#targets.set(ref, pointedAt(ref, this.#root) ?? false);
    return this.#targets.get(ref);
  }
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

/** No longer than what is shown of it: a name may have a million letters, and all that is below has it. */
function below(path: string, step: string): string {
  return path.length > MAX_SHOWN ? path : path + step.slice(0, MAX_SHOWN);
}

function place(path: string): string {
  return path === '' ? 'it' : path.replace(/^\./, '').slice(0, MAX_SHOWN);
}
