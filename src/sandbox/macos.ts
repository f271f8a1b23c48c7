import { GatehouseError } from '../core/errors.ts';

interface Profile {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** Holds the program itself. */
  readonly home?: string;
  /** Beside its directory the only one that it may write to. */
  readonly ownHome?: string;
  readonly network: boolean;
  readonly readable: readonly string[];
  readonly hidden: readonly string[];
}

const SYSTEM = ['/usr', '/bin', '/sbin', '/System', '/Library/Apple', '/opt/homebrew', '/private/var/db/timezone', '/dev'];

/**
 * A program under the sandbox of macOS, which refuses what the profile does not allow. The program learns
 * where its directory lies. Throws GH2010 for a path that could end the text of the profile.
 */
export function sandboxExec(profile: Profile): readonly string[] {
  return ['/usr/bin/sandbox-exec', '-p', profileText(profile), ...profile.argv];
}

export function profileText({ cwd, home, ownHome, network, readable, hidden }: Omit<Profile, 'argv'>): string {
  const below = (paths: readonly string[]): string => paths.map((path) => `(subpath ${quoted(path)})`).join(' ');
  return [
    '(version 1)',
    '(deny default)',
    '(allow process-fork)',
    '(allow process-exec)',
    '(allow signal (target same-sandbox))',
    '(allow sysctl-read)',
    '(allow file-read-metadata)',
    `(allow file-read* (literal "/") ${below([...SYSTEM, ...readable])})`,
    ...(hidden.length === 0 ? [] : [`(deny file-read* ${below(hidden)})`]),
    // The last rule that fits decides.
    ...(home === undefined ? [] : [`(allow file-read* ${below([home])})`]),
    `(allow file-read* file-write* ${below(ownHome === undefined ? [cwd] : [cwd, ownHome])})`,
    '(allow file-write* (literal "/dev/null") (literal "/dev/zero"))',
    ...(network ? ['(allow network*)', '(allow system-socket)'] : []),
    '',
  ].join('\n');
}

function quoted(path: string): string {
  const isPlain = path.startsWith('/') && ![...path].some((char) => char < ' ' || '()\\"\u007f'.includes(char));
  if (!isPlain)
    throw new GatehouseError('GH2010', 'the sandbox takes no path with control characters, brackets, backslashes or quotes');
  return `"${path}"`;
}
