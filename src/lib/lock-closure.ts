/** A package-lock.json, version 3, as far as it says what to install. */
export interface LockFile {
  readonly packages: Readonly<Record<string, LockEntry>>;
}

export interface LockEntry {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly optional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly [more: string]: unknown;
}

/**
 * The entries of a lock that these packages need, at the paths that they have there. What only optional
 * dependencies lead to is marked `optional`. Throws when the lock lacks one that is required.
 */
export function lockClosure({ packages }: LockFile, roots: readonly string[]): Record<string, LockEntry> {
  const required = new Set<string>();
  const optional = new Set<string>();
  const visit = (from: string, name: string, mayLack: boolean): void => {
    const path = resolveIn(packages, from, name);
    if (path === undefined) {
      if (mayLack) return;
      throw new Error(`the lock file has no ${name} for ${from || 'the package'}`);
    }
    if (required.has(path) || (mayLack && optional.has(path))) return;
    (mayLack ? optional : required).add(path);
    const entry = packages[path] ?? {};
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = entry;
    for (const one of Object.keys(dependencies)) visit(path, one, mayLack || one in optionalDependencies);
    for (const one of Object.keys(optionalDependencies)) visit(path, one, true);
    for (const one of Object.keys(peerDependencies)) {
      if (peerDependenciesMeta[one]?.optional !== true) visit(path, one, mayLack);
    }
  };
  for (const root of roots) visit('', root, false);
  const paths = [...new Set([...required, ...optional])].sort();
  return Object.fromEntries(paths.map((path) => [path, cleaned(packages[path] ?? {}, !required.has(path))]));
}

/** The path at which Node finds a package from another one's directory. */
function resolveIn(packages: LockFile['packages'], from: string, name: string): string | undefined {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const path = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (path in packages) return path;
    if (at === '') return undefined;
  }
}

/** Without the marks that tell what the entry is for in the lock that it comes from. */
function cleaned(entry: LockEntry, optional: boolean): LockEntry {
  const { dev: _dev, peer: _peer, devOptional: _devOptional, optional: _optional, resolved: _resolved, ...rest } = entry;
  return optional ? { ...rest, optional: true } : rest;
}
