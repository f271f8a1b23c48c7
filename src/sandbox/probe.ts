// what works here, really tried
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { errorText, isGatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import { oneLine } from '../lib/one-line.ts';
import { type Confinement, confine, type SandboxMode } from './confine.ts';
import { PROCESS_MARK } from './kernel-process.ts';
import { runGroup } from './process-group.ts';

/** What is in force, or why nothing is and what helps. */
export type Probed =
  | { readonly mode: SandboxMode /** Of the programs that tools use, those that it has. */; readonly programs: readonly string[] }
  | { readonly problem: string; readonly hint: string };

/** Where programs are looked for, in a sandbox and without. */
export const PROGRAM_PATH = '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/opt/homebrew/bin';
const PROGRAMS = ['bash', 'rg', 'git', 'chromium'];
const PROBE_MS = 10_000;

const INSTALL = {
  bwrap: 'install bubblewrap: `apt-get install bubblewrap ripgrep` on Debian',
  macos: 'sandbox-exec is a part of macOS only; set sandbox.mode to "auto"',
  docker: 'install the client of Docker, and let the user of the daemon speak to its engine (group docker)',
  none: 'see the message',
} as const;
const NAMESPACES =
  'a hardened service or a container forbids the namespaces that bubblewrap needs: run programs in gatehouse-tools.service, see "Programs" in the README';

/**
 * `auto` is the sandbox that this system has, else containers where the operator names an image; never
 * `none`. What it finds is not kept.
 */
export async function probeSandbox(
  mode: SandboxMode | 'auto',
  confinement: Omit<Confinement, 'mode'>,
  clock: Clock,
): Promise<Probed> {
  if (mode !== 'auto') return await probeMode(mode, confinement, clock);
  const own = await probeMode(process.platform === 'darwin' ? 'macos' : 'bwrap', confinement, clock);
  if ('mode' in own || confinement.image === undefined) return own;
  const container = await probeMode('docker', confinement, clock);
  return 'mode' in container ? container : { ...own, problem: `${own.problem}; and of containers: ${container.problem}` };
}

async function probeMode(chosen: SandboxMode, confinement: Omit<Confinement, 'mode'>, clock: Clock): Promise<Probed> {
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-probe-'));
  try {
    return await tryOnce(chosen, confinement, directory, clock);
  } catch (error) {
    const hint = isGatehouseError(error) ? error.hint : INSTALL[chosen];
    return { problem: `the sandbox cannot be used: ${oneLine(errorText(error), 300)}`, hint };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function tryOnce(mode: SandboxMode, jail: Omit<Confinement, 'mode'>, cwd: string, clock: Clock): Promise<Probed> {
  const script = `for name in ${PROGRAMS.join(' ')}; do command -v "$name" >/dev/null && echo "$name"; done; echo works`;
  const env = { PATH: PROGRAM_PATH, [PROCESS_MARK]: basename(cwd) };
  const program = { argv: ['/bin/sh', '-c', script], cwd, env, sandbox: 'tool', network: false } as const;
  const command = confine({ ...program, memoryBytes: 1024 ** 3, pids: 64 }, { ...jail, mode });
  const options = { timeoutMs: PROBE_MS, outputBytes: 10_000, onStart: async () => undefined, clock };
  const { code, out, err } = await runGroup(command, options, new AbortController().signal);
  const said = out.trim().split('\n');
  if (code === 0 && said.at(-1) === 'works') return { mode, programs: said.slice(0, -1) };
  const reason = oneLine(err, 300);
  if (/(^|: )(bwrap|prlimit|docker|\/usr\/bin\/sandbox-exec): (not found|No such file)|exec: .*not found/i.test(reason))
    return { problem: `${mode === 'bwrap' ? 'bubblewrap' : mode} is not installed`, hint: INSTALL[mode] };
  return {
    problem: `the sandbox was tried and does not work: ${reason || `status ${code}`}`,
    hint: hintFor(mode, reason, jail.image),
  };
}

function hintFor(mode: SandboxMode, reason: string, image = ''): string {
  if (mode === 'docker' && /no such image|unable to find image/i.test(reason))
    return `images are not pulled here: run \`docker pull ${image}\``;
  if (mode === 'docker' && /cannot connect to the docker daemon/i.test(reason))
    return 'start the engine (`systemctl start docker`), and let the user of the daemon speak to it (group docker)';
  return mode === 'bwrap' ? NAMESPACES : INSTALL[mode];
}
