/** What a reference of a schema leads to within it; undefined = it leads to nothing, or out of it. */
export function pointedAt(ref: string, root: Readonly<Record<string, unknown>>): unknown {
  if (ref !== '#' && !ref.startsWith('#/')) return undefined;
  const steps = decoded(ref).split('/').slice(1);
  const names = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return names.reduce<unknown>(
    (node, name) =>
      typeof node === 'object' && node !== null && Object.hasOwn(node, name) ? Reflect.get(node, name) : undefined,
    root,
  );
}

/** As part of an address it is percent-encoded (RFC 6901 6). What is not so stays as it is. */
function decoded(ref: string): string {
  try {
    return decodeURIComponent(ref);
  } catch {
    return ref;
  }
}
