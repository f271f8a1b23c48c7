/** Reads JSON of any origin: what is missing or of another type is absent, and nothing throws. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** An empty object for anything that is none. */
export function obj(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function str(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function num(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** Empty for anything that is no list. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The objects of a list. */
export function objects(value: unknown): readonly JsonObject[] {
  return list(value).filter(isObject);
}

/** Undefined unless the text is one JSON object. */
export function parseObject(text: string | undefined): JsonObject | undefined {
  const value = text === undefined ? undefined : parseJson(text);
  return isObject(value) ? value : undefined;
}

/** Undefined for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
