import { isBlockedVariable } from '../lib/blocked-variables.ts';

/**
 * The environment of a child: what is given, without the names that are blocked in any case, those that bash
 * takes for functions, and those that are no names.
 */
export function childEnvironment(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(given).filter(
      ([name, value]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !isBlockedVariable(name) && !value.includes('\0'),
    ),
  );
}
