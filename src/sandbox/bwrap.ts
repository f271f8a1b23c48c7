import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { GatehouseError } from '../core/errors.ts';
import type { Command } from './process-group.ts';
import { seccompFilter } from './seccomp.ts';

/** Where a program finds its directory, so that it does not learn where that lies. */
export const WORKSPACE = '/workspace';
/** Where a program with a home finds that. */
export const PROGRAM_HOME = '/program';
/** Where one that has no directory begins, and has its HOME: in memory that ends with it. */
export const NOWHERE = '/tmp';

interface Jail {
  readonly argv: readonly string[];
  /** Absolute; the only directory of the machine that the program may write to. Undefined = there is none. */
  readonly cwd: string | undefined;
  /** Absolute; seen at `PROGRAM_HOME`, also where it lies in a hidden directory. */
  readonly home?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly network: boolean;
  readonly readable: readonly string[];
  readonly hidden: readonly string[];
}

/** Of `/etc` only what programs need to run, to look up users and zones, and to check certificates. */
const OF_ETC = [
  ...['ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'alternatives', 'localtime', 'timezone', 'nsswitch.conf', 'passwd', 'group'],
  ...[
    'ssl/certs',
    'ssl/openssl.cnf',
    'ca-certificates',
    'pki/tls/certs',
    'mime.types',
    'magic',
    'fonts',
    'services',
    'protocols',
  ],
];
/** Without the network nothing asks for these. */
const OF_NETWORK = ['hosts', 'resolv.conf', 'host.conf', 'gai.conf'];
/**
 * What of `/proc` lets root tell the kernel what to do, without being asked for rights. bubblewrap
 * covers only what a directory's own mode lets it write to, and that of `/proc/sys` does not, unlike
 * those of its files.
 */
const OF_KERNEL = ['sys', 'sysrq-trigger', 'acpi', 'dynamic_debug', 'fs', 'mtrr', 'pressure', 'scsi'];
/** What a program may keep in directories that are memory, in any sandbox. Bytes. */
export const TMP_BYTES = 512 * 1024 ** 2;
export const SHM_BYTES = 256 * 1024 ** 2;
/** On most systems links into /usr. */
const OF_SYSTEM = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/**
 * The program alone in namespaces of its own, without capabilities and, unless allowed, without the network.
 * It sees the system read-only, its own processes, an empty `/tmp` and its directory, and nothing else.
 * bubblewrap watches over it: killed, it takes all with it.
 */
export function bubblewrap({ argv, cwd, home, env, network, readable, hidden }: Jail): Command {
  const own = cwd === undefined ? ['--chdir', NOWHERE] : ['--bind', realDirectory(cwd), WORKSPACE, '--chdir', WORKSPACE];
  const etc = [...OF_ETC, ...(network ? OF_NETWORK : [])].map((name) => `/etc/${name}`);
  const seen = ['/usr', ...readable.map(readablePath)];
  const args = [
    ...['--unshare-all', ...(network ? ['--share-net'] : []), '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ...['--ro-bind', '/usr', '/usr', ...OF_SYSTEM.flatMap(systemDirectory)],
    ...etc.flatMap((path) => ['--ro-bind-try', path, path]),
    ...['--proc', '/proc', ...OF_KERNEL.map((name) => `/proc/${name}`).flatMap((path) => ['--ro-bind-try', path, path])],
    ...['--dev', '/dev', '--size', `${SHM_BYTES}`, '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...['--size', `${TMP_BYTES}`, '--tmpfs', '/tmp', '--dir', '/var', '--symlink', '../tmp', '/var/tmp', '--dir', '/run'],
    ...seen.slice(1).flatMap((path) => ['--ro-bind', path, path]),
    ...hidden.filter((path) => seen.some((shown) => isWithin(path, shown))).flatMap((path) => ['--tmpfs', path]),
    ...(home === undefined ? [] : ['--ro-bind', realDirectory(home), PROGRAM_HOME]),
    ...[...own, '--remount-ro', '/', '--hostname', 'sandbox'],
  ];
  const filter = seccompFilter(process.arch);
  const seccomp = filter ? ['--seccomp', '4'] : [];
  const command = ['bwrap', ...args, ...seccomp, '--', ...argv];
  const shown = Object.entries(env).map(([name, value]) => [name, cwd === undefined ? value : seenAs(value, cwd, WORKSPACE)]);
  const isHome = cwd !== undefined && env['HOME'] === cwd;
  const variables = { ...Object.fromEntries(shown), HOME: isHome ? WORKSPACE : NOWHERE };
  return { argv: command, cwd: '/', env: variables, isGuardian: true, ...(filter ? { fourth: filter } : {}) };
}

/** A path as a program finds it, where the directory is shown to it at another place; other text as it is. */
export function seenAs(text: string, directory: string, place: string): string {
  return isWithin(text, directory) ? `${place}${text.slice(directory.length)}` : text;
}

function systemDirectory(path: string): readonly string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return [];
  return stat.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

/** A link in its place would let a program that has written there choose what is shown to the next. */
export function realDirectory(path: string): string {
  const stat = path.startsWith('/') ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
  if (stat?.isDirectory() !== true) throw new GatehouseError('GH2010', 'the directory of a program does not exist, or is a link');
  return realpathSync(path);
}

/** Never shown, whatever the config says: each leads out of the sandbox, or into what belongs to others. */
const FORBIDDEN = ['/etc', '/proc', '/sys', '/dev', '/run/docker.sock', '/var/run/docker.sock', '/run/containerd', '/run/podman'];

/** Why a path must not be shown to programs, in words that follow it; undefined = it may. */
export function refusedPath(path: string): string | undefined {
  if (!path.startsWith('/')) return 'is not absolute';
  if (/[:\0\n]/.test(path)) return 'holds a colon or a control character';
  if (path.split('/').some((name) => name === '..' || name === '.')) return 'holds . or ..';
  const plain = path.replace(/\/+/g, '/').replace(/(?<=.)\/$/, '');
  if (plain.endsWith('.sock')) return 'is a socket';
  if (FORBIDDEN.some((one) => isWithin(plain, one) || isWithin(one, plain))) return 'is, or contains, what programs must not see';
  return undefined;
}

/** As it really is: a link must not lead to what is forbidden. */
export function readablePath(path: string): string {
  let real: string;
  try {
    real = realpathSync(path);
  } catch (error) {
    throw new GatehouseError('GH2010', 'a path in sandbox.read_allow_paths does not exist', { cause: error });
  }
  const refused = refusedPath(real);
  if (refused !== undefined) throw new GatehouseError('GH2010', `a path in sandbox.read_allow_paths ${refused}`);
  return real;
}

function isWithin(path: string, parent: string): boolean {
  return path === parent || path.startsWith(parent === '/' ? '/' : `${parent}/`);
}
