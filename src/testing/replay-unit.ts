import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';

/** What a systemd unit comes to for a program, as far as bubblewrap and a seccomp filter can replay it. */
export interface ReplayedUnit {
  /** To stand before the argv of the program, in a process group by itself: to be ended as a whole. */
  readonly argv: readonly string[];
  /** For descriptor 4. */
  readonly fourth: Buffer;
}

export interface ReplayOptions {
  /** Where a path of the unit lies on this machine. */
  readonly place: (path: string) => string;
  /** Its state directory, and what else it may write to. */
  readonly writable: readonly string[];
  /** What starts the program, shown at `/mnt`: its own place may be closed to the user of the unit. */
  readonly program: string;
}

/** As whom a unit runs where the tests run as root; its directories must belong to it. */
export const UNIT_UID = 65_534;
export const isRoot = process.getuid?.() === 0;

/**
 * As systemd does it: root makes the mounts, then all rights are dropped, then the program starts. Who is not
 * root has no rights to drop, and cannot hide the processes of others.
 */
export function replayUnit(text: string, { place, writable, program }: ReplayOptions): ReplayedUnit {
  const values = (key: string): readonly string[] =>
    [...text.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].flatMap(([, value = '']) => value.split(' '));
  const isSet = (key: string): boolean => values(key).includes('yes');
  const argv = [
    ...(isRoot && values('ProtectProc').includes('invisible') ? HIDE_PROCESSES : []),
    ...['bwrap', values('ProtectSystem').includes('strict') ? '--ro-bind' : '--bind', '/', '/', '--dev-bind', '/dev', '/dev'],
    ...['--bind', '/proc', '/proc'],
    ...(isSet('ProtectKernelTunables') ? ['--ro-bind', '/proc/sys', '/proc/sys'] : []),
    ...(isSet('ProtectControlGroups') ? ['--ro-bind', '/sys/fs/cgroup', '/sys/fs/cgroup'] : []),
    ...(isSet('ProtectKernelLogs') ? ['--ro-bind', '/dev/null', '/proc/kmsg'] : []),
    ...(isSet('PrivateNetwork') ? ['--unshare-net'] : []),
    ...['--ro-bind', program, '/mnt'],
    ...writable.flatMap((path) => ['--bind', path, path]),
    ...values('TemporaryFileSystem').flatMap((value) => ['--tmpfs', place(value.split(':')[0] ?? '')]),
    ...values('BindPaths').flatMap((value) => {
      const [from = '', to = from] = value.split(':');
      // Made beforehand as systemd makes it: bubblewrap closes it to others if what it binds is.
      return ['--dir', dirname(place(to)), '--bind', place(from), place(to)];
    }),
    ...values('BindReadOnlyPaths').flatMap((value) => {
      const [from = '', to = from] = value.replace(/^-/, '').split(':');
      return ['--dir', dirname(place(to)), '--ro-bind-try', place(from), place(to)];
    }),
    ...WITHOUT_RIGHTS,
  ];
  const errno = values('SystemCallErrorNumber')[0];
  const fourth = systemCalls({
    allow: values('SystemCallFilter').flatMap(callsOf),
    errno: errno === 'EPERM' ? 1 : null,
    namespaces: !values('RestrictNamespaces').includes('yes'),
  });
  return { argv, fourth };
}

const HIDE_PROCESSES = ['unshare', '-m', 'sh', '-c', 'mount -t proc -o hidepid=invisible proc /proc && exec "$@"', 'sh'];
const WITHOUT_RIGHTS = [
  ...['--cap-drop', 'ALL', '--seccomp', '4'],
  ...(isRoot
    ? [
        ...['--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID', '--cap-add', 'CAP_SETPCAP', '--'],
        ...['setpriv', `--reuid=${UNIT_UID}`, `--regid=${UNIT_UID}`, '--clear-groups', '--no-new-privs'],
        ...['--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all'],
      ]
    : []),
  '--',
];

/**
 * A service of `compose.yaml` with its profile: of `state` it has the workspaces, and the copies of plugins
 * to read.
 */
export function replayContainer(profile: string, { state, writable, program }: ContainerOptions): ReplayedUnit {
  const { defaultErrnoRet, syscalls } = JSON.parse(profile) as {
    readonly defaultErrnoRet: number;
    readonly syscalls: readonly { readonly names: readonly string[] }[];
  };
  const argv = [
    ...['bwrap', '--ro-bind', '/', '/', '--dev-bind', '/dev', '/dev', '--bind', '/proc', '/proc', '--unshare-net'],
    ...['--ro-bind', program, '/mnt', '--bind', writable, writable, '--tmpfs', state],
    ...['--bind', `${state}/workspaces`, `${state}/workspaces`],
    ...['--ro-bind', `${state}/plugin-copies`, `${state}/plugin-copies`, ...WITHOUT_RIGHTS],
  ];
  const allow = syscalls.flatMap(({ names }) => names);
  return { argv, fourth: systemCalls({ allow, errno: defaultErrnoRet, namespaces: true }) };
}

interface ContainerOptions {
  readonly state: string;
  readonly writable: string;
  readonly program: string;
}

/** What a unit, or the profile of a container, says of system calls. */
interface SystemCalls {
  readonly allow: readonly string[];
  /** Null = what is refused kills. */
  readonly errno: number | null;
  /** Whether namespaces may be made. */
  readonly namespaces: boolean;
}

/** The program for the kernel. */
function systemCalls(rules: SystemCalls): Buffer {
  return execFileSync('python3', [join(import.meta.dirname, 'unit-seccomp.py')], { input: JSON.stringify(rules) });
}

/** A group of calls as systemd has it, or a call by itself. */
export function callsOf(name: string): readonly string[] {
  if (!name.startsWith('@')) return [name];
  const said = execFileSync('systemd-analyze', ['syscall-filter', '--no-pager', name], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const members = [...said.matchAll(/^ +([@\w-]+)$/gm)].map(([, member = '']) => member);
  return members.flatMap(callsOf);
}
