import { GatehouseError } from '../core/errors.ts';
import { NOWHERE, PROGRAM_HOME, readablePath, realDirectory, SHM_BYTES, seenAs, TMP_BYTES, WORKSPACE } from './bwrap.ts';
import { PROCESS_MARK } from './kernel-process.ts';
import type { Command } from './process-group.ts';

interface Container {
  readonly argv: readonly string[];
  /** Absolute; the only directory of the machine that the program may write to. */
  readonly cwd: string;
  /** Absolute; seen at `PROGRAM_HOME`. */
  readonly home?: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly network: boolean;
  readonly readable: readonly string[];
  readonly hidden: readonly string[];
  readonly image: string;
  readonly memoryBytes?: number;
  readonly pids?: number;
  readonly fileBytes: number;
}

/** There is no such directory: what the agent writes into its own must not configure the client. */
const NO_CONFIG = '/nonexistent';
/** Variables that say which engine the client speaks to, and how. */
const OF_CLIENT = /^(?:DOCKER|BUILDKIT|COMPOSE)_/i;

/** The container of a program, by the id of its row. */
function containerName(id: string): string {
  return `gatehouse-${id}`;
}

/** Ends and removes a container, also one that is not there. */
export function removal(id: string): readonly string[] {
  return ['docker', 'rm', '--force', '--volumes', containerName(id)];
}

/**
 * The program alone in a container of the operator's image, which is never pulled: no capabilities, no
 * new rights, the file system read-only, an empty `/tmp` and its directory, and unless allowed no
 * network. The first process is the client of the engine: killed, it leaves the container behind, so that
 * is removed by its name.
 */
export function dockerRun(container: Container): Command {
  const { argv, env, network, image, memoryBytes, pids, fileBytes } = container;
  const { [PROCESS_MARK]: id, PATH = '' } = env;
  if (id === undefined) throw new GatehouseError('GH2010', 'a program without an id cannot have a container');
  const [program = '', ...args] = argv;
  const own = Object.fromEntries(
    Object.entries(env)
      .filter(([name]) => !['HOME', 'PATH'].includes(name) && !OF_CLIENT.test(name))
      .map(([name, value]) => [name, seenAs(value, container.cwd, WORKSPACE)]),
  );
  const { uid, gid } = { uid: process.getuid?.() ?? 65_534, gid: process.getgid?.() ?? 65_534 };
  const run = [
    ...['docker', 'run', '--rm', '--init', '--interactive', '--pull', 'never', '--name', containerName(id)],
    ...['--network', network ? 'bridge' : 'none', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--read-only'],
    ...['--log-driver', 'none', '--tmpfs', `/tmp:rw,nosuid,nodev,exec,size=${TMP_BYTES}`, '--shm-size', `${SHM_BYTES}`],
    // The same figure twice: there is no swap beside it.
    ...(memoryBytes === undefined ? [] : ['--memory', `${memoryBytes}`, '--memory-swap', `${memoryBytes}`]),
    ...(pids === undefined ? [] : ['--pids-limit', `${pids}`]),
    ...['--ulimit', 'core=0', '--ulimit', `fsize=${fileBytes}`, '--user', `${uid}:${gid}`, '--hostname', 'sandbox'],
    ...mounts(container),
    ...['--workdir', WORKSPACE, '--env', `HOME=${env['HOME'] === container.cwd ? WORKSPACE : NOWHERE}`, '--env', `PATH=${PATH}`],
    // By name alone: the values are the client's, and on no command line that others of the machine may read.
    ...Object.keys(own).flatMap((name) => ['--env', name]),
    ...['--entrypoint', program, image, ...args],
  ];
  const client = { ...own, PATH, HOME: NO_CONFIG, DOCKER_CONFIG: NO_CONFIG };
  return { argv: run, cwd: '/', env: client, isGuardian: false, cleanUp: removal(id) };
}

function mounts({ cwd, home, readable, hidden }: Container): readonly string[] {
  const shown = readable.map(readablePath);
  const covered = hidden.filter((path) => shown.some((one) => path === one || path.startsWith(`${one}/`)));
  return [
    ...shown.map((path) => `type=bind,src=${plain(path)},dst=${plain(path)},readonly`),
    ...covered.map((path) => `type=tmpfs,dst=${plain(path)}`),
    ...(home === undefined ? [] : [`type=bind,src=${plain(realDirectory(home))},dst=${PROGRAM_HOME},readonly`]),
    `type=bind,src=${plain(realDirectory(cwd))},dst=${WORKSPACE}`,
  ].flatMap((mount) => ['--mount', mount]);
}

/** A mount is a line of comma-separated values. */
function plain(path: string): string {
  if (/[,"\n\r\0]/.test(path))
    throw new GatehouseError('GH2010', 'a container takes no directory whose path has a comma, a quote or a line break', {
      hint: 'move the data directory, or take the path out of sandbox.read_allow_paths',
    });
  return path;
}
