import { hasPackage, installCommand, OPTIONAL_PACKAGES } from '../lib/optional-packages.ts';

/** The command that installs those of these packages that are missing. Undefined = none is. */
export function missingPackages(names: readonly string[], has = hasPackage): string | undefined {
  const missing = names.filter((name) => !has(name));
  const sets = Object.entries(OPTIONAL_PACKAGES.tools).filter(([, packages]) => packages.some((name) => missing.includes(name)));
  const commands = sets.map(([set]) => installCommand('tools', set, has));
  return commands.length === 0 ? undefined : commands.join(' && ');
}
