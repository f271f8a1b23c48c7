/** `${NAME}`, `${NAME:-default}`; `$${NAME}` stands for the text `${NAME}` itself. */
const REFERENCE = /(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

export interface UnsetVariable {
  readonly path: readonly PropertyKey[];
  readonly variable: string;
}

/**
 * Replaces references in every string value (keys stay as they are) and returns a copy. As in a shell,
 * `:-` also stands in for a variable that is set but empty. An unset variable without default becomes
 * empty and is reported.
 */
export function expandVariables(
  value: unknown,
  env: Readonly<Record<string, string | undefined>>,
): { readonly value: unknown; readonly unset: readonly UnsetVariable[] } {
  const unset: UnsetVariable[] = [];
  const expand = (node: unknown, path: readonly PropertyKey[]): unknown => {
    if (typeof node === 'string') {
      return node.replace(REFERENCE, (whole: string, escaped: string, variable: string, fallback: string | undefined) => {
        if (escaped !== '') return whole.slice(1);
        const found = env[variable];
        if (found !== undefined && found !== '') return found;
        if (fallback === undefined && found === undefined) unset.push({ path, variable });
        return fallback ?? '';
      });
    }
    if (Array.isArray(node)) return node.map((item, index) => expand(item, [...path, index]));
    if (node !== null && typeof node === 'object') {
      return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, expand(item, [...path, key])]));
    }
    return node;
  };
  return { value: expand(value, []), unset };
}

/** Whether a string of the file holds a reference. Its expanded value may be a secret: it is not shown. */
export function hasReference(text: unknown): boolean {
  return typeof text === 'string' && text.search(REFERENCE) !== -1;
}
