import type { z } from 'zod';
import { nearest } from '../src/lib/edit-distance.ts';
import { isSecretLike } from './excerpt.ts';
import { hasReference } from './expand.ts';
import type { Finding } from './problem.ts';
import { unknownKey } from './unknown-key.ts';

export interface Checked<T> {
  /** Undefined when there is an error among the findings. */
  readonly data: T | undefined;
  readonly findings: readonly Finding[];
}

/**
 * Checks a value against a strict schema. Unknown keys are warned about and left out (an older program must
 * survive a newer file), but for those that may be meant as a limit or as a protection: these are errors, as
 * everything else is. All findings at once. `original` is the value before variables were expanded: only what
 * the operator wrote is ever quoted. `whole`: the value is a whole config file and not one channel's
 * settings.
 */
export function checkValue<T>(schema: z.ZodType<T>, value: unknown, original: unknown, whole = false): Checked<T> {
  const candidate = structuredClone(value);
  const findings: Finding[] = [];
  for (;;) {
    const result = schema.safeParse(candidate);
    if (result.success) {
      const refused = findings.some(({ severity }) => severity === 'error');
      return { data: refused ? undefined : result.data, findings };
    }
    const unknown = result.error.issues.filter((issue) => issue.code === 'unrecognized_keys');
    if (unknown.length === 0) {
      findings.push(...result.error.issues.map((issue) => describeIssue(issue, original)));
      return { data: undefined, findings };
    }
    for (const issue of unknown) {
      const holder = valueAt(candidate, issue.path);
      for (const key of issue.keys) {
        const about = { path: [...issue.path, key], value: valueAt(candidate, [...issue.path, key]) };
        findings.push(unknownKey(schema, about, whole));
        Reflect.deleteProperty(holder as object, key);
      }
    }
  }
}

/** The value at a path; undefined where the path leads nowhere. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((node, step) => {
    if (node === null || typeof node !== 'object' || !Object.hasOwn(node, step)) return undefined;
    return Reflect.get(node, step);
  }, value);
}

type Described = Pick<Finding, 'message' | 'hint'>;

function describeIssue(issue: z.core.$ZodIssue, original: unknown): Finding {
  // The name of an entry in a record: what is wrong with it is said one level further in.
  if (issue.code === 'invalid_key')
    return { severity: 'error', path: issue.path, atKey: true, message: issue.issues[0]?.message ?? issue.message };
  const value = valueAt(original, issue.path);
  return { severity: 'error', path: issue.path, ...describe(issue, value) };
}

function describe(issue: z.core.$ZodIssue, value: unknown): Described {
  switch (issue.code) {
    case 'invalid_type':
      return describeType(issue.expected, value);
    case 'invalid_value':
      return issue.message.startsWith('Invalid ')
        ? describeChoice(issue.values.map(String), value, issue.path.at(-1))
        : { message: issue.message };
    case 'too_small':
      if (issue.origin === 'string' || issue.origin === 'array')
        return { message: `must have at least ${issue.minimum} of its elements` };
      return { message: `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}` };
    case 'too_big':
      return { message: `must be ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}` };
    case 'custom': {
      const hint: unknown = issue.params?.['hint'];
      return { message: issue.message, ...(typeof hint === 'string' && { hint }) };
    }
    default:
      return { message: issue.message };
  }
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text in double quotes',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list in [ ]',
  object: 'an object in { }',
  record: 'an object in { }',
};

function describeType(expected: string, value: unknown): Described {
  const wanted = TYPE_NAMES[expected] ?? expected;
  if (value === undefined) return { message: `is missing; it must be ${wanted}` };
  const message = `must be ${wanted}`;
  if (expected === 'string' && typeof value === 'number') return { message, hint: `put it in double quotes: "${value}"` };
  if (hasReference(value)) return { message, hint: 'a variable always gives text; write the value itself here' };
  if (typeof value !== 'string') return { message };
  const unquoted = (expected === 'number' || expected === 'int') && value.trim() !== '' && Number.isFinite(Number(value));
  if (unquoted || (expected === 'boolean' && /^(true|false)$/.test(value))) return { message, hint: 'remove the double quotes' };
  return { message };
}

/** A word that is not in a list of words: names the list and, for a typo, the word that was meant. */
export function describeChoice(choices: readonly string[], value: unknown, key?: PropertyKey): Described {
  if (value === undefined) return { message: `is missing; it must be one of: ${choices.join(', ')}` };
  const quotable = typeof value === 'string' && !hasReference(value) && !isSecretLike(String(key ?? ''), value);
  const meant = quotable ? nearest(value, choices) : undefined;
  const subject = quotable ? `${JSON.stringify(value.slice(0, 60))} is not known` : 'this value is not known';
  const message = `${subject}; it must be one of: ${choices.join(', ')}`;
  return meant === undefined ? { message } : { message, hint: `did you mean "${meant}"?` };
}
