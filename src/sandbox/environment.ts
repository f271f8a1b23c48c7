/** Each makes a program load or run code of the one who sets it (spec G8). */
const BLOCKED: ReadonlySet<string> = new Set([
  ...['LD_PRELOAD', 'LD_LIBRARY_PATH', 'LD_AUDIT'],
  ...[
    'DYLD_INSERT_LIBRARIES',
    'DYLD_LIBRARY_PATH',
    'DYLD_FRAMEWORK_PATH',
    'DYLD_FALLBACK_LIBRARY_PATH',
    'DYLD_VERSIONED_LIBRARY_PATH',
  ],
  ...['NODE_OPTIONS', 'PYTHONSTARTUP', 'PYTHONPATH', 'PERL5OPT', 'RUBYOPT', 'RUBYLIB', 'JAVA_TOOL_OPTIONS'],
  ...['BASH_ENV', 'ENV', 'ZDOTDIR'],
]);

/**
 * The environment of a child: what is given, without the names that are blocked in any case, those that bash
 * takes for functions, and those that are no names.
 */
export function childEnvironment(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(given).filter(
      ([name, value]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !BLOCKED.has(name.toUpperCase()) && !value.includes('\0'),
    ),
  );
}
