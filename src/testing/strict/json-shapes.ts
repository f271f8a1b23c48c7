/** Reads JSON of which nothing is known yet. */
export type Json = Readonly<Record<string, unknown>>;

/** The object, or an empty one in place of anything else. */
export function record(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

/** The list with objects only, or an empty one. */
export function records(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(record) : [];
}

/** The first refusal of rules that are asked in turn. */
export function firstOf<T>(rules: Iterable<T | undefined>): T | undefined {
  for (const found of rules) if (found !== undefined) return found;
  return undefined;
}

/** A text in two pieces, as a stream brings it. */
export function halves(text: string): readonly string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((piece) => piece !== '');
}
