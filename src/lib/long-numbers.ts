/** Whole numbers in JSON that parsing and writing turn into others: most often the ids of other things. */
import { isDeep } from './json-depth.ts';

/** A whole number of fewer digits is always written again as it was. */
const LONG_NUMBER = /\d{16}/;

/** Node has it; the types of the language do not yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => object };

/** As it is written where `JSON.parse` and `JSON.stringify` make another text of it, else undefined. */
function altered(value: unknown, source: string): string | undefined {
  return typeof value === 'number' && /^-?\d{16,}$/.test(source) && JSON.stringify(value) !== source ? source : undefined;
}

/**
 * As `JSON.parse`, but such a number becomes an object that `JSON.stringify` writes as it was. For JSON that
 * is written again before it is read.
 */
export function parseKeepingNumbers(json: string): unknown {
  const parsed: unknown = JSON.parse(json);
  // A reviver takes the stack, which ends before that of what is nested deeply.
  if (!LONG_NUMBER.test(json) || isDeep(parsed)) return parsed;
  return JSON.parse(json, (_key, value: unknown, { source = '' }: { readonly source?: string } = {}) => {
    const text = altered(value, source);
    return text === undefined ? value : rawJSON(text);
  });
}

/** The first such number, as it is written. Not for JSON that is nested deeply. Throws what is no JSON. */
export function alteredNumberIn(json: string): string | undefined {
  if (!LONG_NUMBER.test(json)) return undefined;
  let found: string | undefined;
  JSON.parse(json, (_key, value: unknown, { source = '' }: { readonly source?: string } = {}) => {
    found ??= altered(value, source);
    return value;
  });
  return found;
}
