// a program and what may be seen of the machine -> the command that is really started
import { realpathSync } from 'node:fs';
import { GatehouseError } from '../core/errors.ts';
import type { Spawn } from '../core/process.ts';
import { bubblewrap, PROGRAM_HOME, seenAs } from './bwrap.ts';
import { dockerRun } from './docker.ts';
import { childEnvironment } from './environment.ts';
import { sandboxExec } from './macos.ts';
import type { Command } from './process-group.ts';

export const SANDBOX_MODES = ['bwrap', 'macos', 'docker', 'none'] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

/** What is in force for every program of a tool. Plain data: the worker is told with each program. */
export interface Confinement {
  readonly mode: SandboxMode;
  /** Whether a program may have the network when it asks for it. */
  readonly network: boolean;
  /** Absolute paths that programs may read beside those of the system. */
  readonly readable: readonly string[];
  /** Directories that are never seen, also where a readable one contains them. */
  readonly hidden: readonly string[];
  /** Of containers; only mode `docker` has one. */
  readonly image?: string | undefined;
}

/** What is needed of a program to confine it. */
export type Confined = Pick<Spawn, 'argv' | 'cwd' | 'home' | 'env' | 'sandbox' | 'network' | 'readable'> & {
  /** Absolute: HOME and the place for temporary files of a program that has none in memory. */
  readonly ownHome?: string;
  /** Of each process; of a program of a tool also of all together. */
  readonly memoryBytes?: number;
  readonly pids?: number;
};

/** Throws GH2010 where the sandbox cannot take a directory or a path, or cannot isolate a program. */
export function confine(program: Confined, given: Confinement): Command {
  // What is shown is shown where it really lies: so is what is hidden, which a link may name.
  const confinement = { ...given, hidden: given.hidden.map(realPath) };
  const { argv, cwd, home, ownHome } = program;
  const env = {
    ...childEnvironment(program.env),
    ...(ownHome === undefined ? {} : { HOME: ownHome, TMPDIR: ownHome }),
  };
  const network = program.network && confinement.network;
  // Before the mode: `none` is for programs that a person approves, not for the code of strangers.
  if (program.sandbox === 'isolated') return isolated({ ...program, env, network }, confinement);
  if (program.sandbox === 'trusted' || confinement.mode === 'none') {
    return { argv: limited(program), cwd, env, isGuardian: false, ...together(program) };
  }
  const own = { ...(home === undefined ? {} : { home }), ...(ownHome === undefined ? {} : { ownHome }) };
  if (confinement.mode === 'macos')
    return { argv: sandboxExec({ ...confinement, ...own, argv, cwd, network }), cwd, env, isGuardian: false };
  const inside = home === undefined ? argv : argv.map((word) => seenAs(word, home, PROGRAM_HOME));
  if (confinement.mode === 'docker')
    return dockerRun({ ...program, ...imageOf(confinement), argv: inside, env, network, fileBytes: FILE_BYTES });
  const jailed = bubblewrap({ ...confinement, ...own, argv: limited({ ...program, argv: inside }), cwd, env, network });
  return { ...jailed, ...together(program) };
}

/**
 * Only for programs of tools: a container engine bounds the sum itself, the browser's driver watches its own
 * processes, and our own helpers are single processes.
 */
function together({ sandbox, memoryBytes }: Confined): Pick<Command, 'memoryBytes'> {
  return sandbox === 'tool' && memoryBytes !== undefined ? { memoryBytes } : {};
}

/** As it is named where that leads to nothing, as in the unit of a worker. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function isolated(program: Confined, { mode, hidden }: Confinement): Command {
  if (mode !== 'bwrap') throw new GatehouseError('GH2010', 'only bubblewrap can isolate a program', { hint: 'install it' });
  const { env, network, readable = [] } = program;
  return bubblewrap({ argv: limited(program), cwd: undefined, env, network, hidden, readable });
}

function imageOf({ image, readable, hidden }: Confinement) {
  if (image === undefined) throw new GatehouseError('GH2010', 'containers have no image', { hint: 'set sandbox.image' });
  return { image, readable, hidden };
}

/** Largest file that a program may write. */
const FILE_BYTES = 1024 ** 3;

/**
 * Bounds that the kernel holds for every process of the program by itself. Those of their number count all
 * processes of a user, in a sandbox only those in it; root is exempt. Of the memory of a program of ours what
 * it holds counts, not what it reserves: Node and browsers reserve more than any bound.
 */
function limited({ argv, memoryBytes, pids, sandbox }: Confined): readonly string[] {
  if (process.platform !== 'linux' || (memoryBytes === undefined && pids === undefined)) return argv;
  const bounds = [
    '--core=0',
    ...(sandbox === 'trusted' ? [] : [`--fsize=${FILE_BYTES}`]),
    ...(memoryBytes === undefined ? [] : [`--${sandbox === 'tool' ? 'as' : 'data'}=${memoryBytes}`]),
    ...(pids === undefined ? [] : [`--nproc=${pids}`]),
  ];
  return ['prlimit', ...bounds, '--', ...argv];
}
