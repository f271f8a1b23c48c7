/**
 * Variables that make the program which gets them run other code (spec G8, A27): no child is given one, not
 * even where the config names it.
 */
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

export function isBlockedVariable(name: string): boolean {
  return BLOCKED.has(name.toUpperCase());
}
