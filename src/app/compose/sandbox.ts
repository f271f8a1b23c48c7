// section `sandbox` -> what works here -> the port by which tools run programs, or why there is none
import { randomUUID } from 'node:crypto';
import { extname, join } from 'node:path';
import { errorText, isGatehouseError } from '../../core/errors.ts';
import type { Journal } from '../../core/journal.ts';
import type { RunSpawner, ToolProgram } from '../../core/process.ts';
import type { SandboxStatus } from '../../core/status.ts';
import type { Confinement } from '../../sandbox/confine.ts';
import { childWorker, socketWorker } from '../../sandbox/connect.ts';
import { PROGRAM_PATH, type Probed, probeSandbox } from '../../sandbox/probe.ts';
import { type ProcessBook, WorkerSpawner } from '../../sandbox/spawner.ts';
import type { Config, DaemonOptions, Programs } from './options.ts';

type SandboxConfig = NonNullable<Config['sandbox']>;

/** What a worker is started from: beside this file in the sources, and in what is published. */
const MAIN = join(import.meta.dirname, `../../cli/main${extname(import.meta.filename)}`);
const MIB = 1024 ** 2;

/**
 * First ends what an earlier process left running, whatever the config says now. Where the sandbox does not
 * work the daemon starts without those tools and says so: they never run in less than is configured.
 */
export async function composePrograms(options: DaemonOptions, journal: Journal): Promise<Programs> {
  const { clock, logger, dataDir, hiddenDir = dataDir } = options;
  const { sandbox } = options.config;
  const { image, allow_network: network = false, read_allow_paths: readable = [] } = sandbox ?? {};
  const jail = { network, readable, hidden: [hiddenDir], ...(image === undefined ? {} : { image }) };
  let confinement: Confinement = { ...jail, mode: 'bwrap' };
  const socket = sandbox?.worker_socket;
  const ownWorker = childWorker({ main: MAIN, path: PROGRAM_PATH, logger });
  const shared = { confinement: () => confinement, book: processBook(journal), newId: randomUUID, clock, logger };
  const spawner = new WorkerSpawner({ ...shared, connect: socket === undefined ? ownWorker : socketWorker(socket) });
  // In the unit of the agent's tools, programs of the operator would have neither network nor their files.
  const operators = socket === undefined ? spawner : new WorkerSpawner({ ...shared, connect: ownWorker });
  const reaped = await spawner.reap();
  if (reaped > 0) logger.warn('processes.ended', { left: reaped, detail: 'an earlier process left them running' });
  const closing = new AsyncDisposableStack();
  for (const one of new Set([spawner, operators])) closing.defer(async () => one[Symbol.dispose]());
  const closeFirst = (part: AsyncDisposable): void => void closing.use(part);
  const close = (): Promise<void> => closing.disposeAsync();
  const none = { of: () => undefined, spawner, operators, hasBrowser: false, closeFirst, [Symbol.asyncDispose]: close };
  if (!sandbox || sandbox.mode === 'off') {
    return { ...none, status: sandbox && { mode: 'off' } };
  }
  const { mode } = sandbox;
  // A worker of our own has what we have: to ask it would only start it.
  const found = await (socket === undefined ? probeSandbox(mode, jail, clock) : probeWorker(() => spawner.probe(mode, jail)));
  if ('problem' in found) {
    logger.warn('sandbox.none', { code: 'GH2012', detail: found.problem, hint: found.hint });
    return { ...none, status: found };
  }
  // Each program says whether it has the network: a plugin has it where that was approved.
  confinement = { ...jail, network: true, mode: found.mode };
  const status = statusOf(found, jail.network);
  logger.info('sandbox', { ...status });
  const hasBrowser = found.mode === 'bwrap' && found.programs.includes('chromium');
  return { ...none, of: (run) => runSpawner(run, spawner, { found, sandbox }), hasBrowser, status };
}

async function probeWorker(probe: () => Promise<Probed>): Promise<Probed> {
  try {
    return await probe();
  } catch (error) {
    const hint = isGatehouseError(error) ? error.hint : 'see the log';
    return { problem: errorText(error), hint };
  }
}

type Found = Extract<Probed, { readonly mode: string }>;

/** Program, the tool that needs it, and the package that has it. */
const OFFERED_WITH = [
  ['rg', 'grep', 'ripgrep'],
  ['git', 'git', 'git'],
  ['chromium', 'browser', 'chromium'],
] as const;

function statusOf({ mode, programs }: Found, network: boolean): SandboxStatus {
  const missing = OFFERED_WITH.flatMap(([program, tool, name]) =>
    programs.includes(program) || (tool === 'browser' && mode !== 'bwrap')
      ? []
      : [`no tool \`${tool}\`: install ${name} (\`apt-get install ${name}\`)`],
  );
  return { mode, network, ...(missing.length > 0 ? { missing: missing.join('; ') } : {}) };
}

interface InForce {
  readonly found: Found;
  readonly sandbox: SandboxConfig;
}

function runSpawner(run: string, spawner: WorkerSpawner, { found, sandbox }: InForce): RunSpawner {
  const { allow_network: network, read_allow_paths: readable, memory_mb: memory, pids, image } = sandbox;
  return {
    bounds: { mode: found.mode, network, readable, ...(found.mode === 'docker' && image !== undefined ? { image } : {}) },
    isContained: found.mode !== 'none' && !network,
    programs: new Set(found.programs),
    run: ({ callId, timeoutMs, outputBytes, isHome, env, ...program }: ToolProgram, signal) =>
      spawner.run(
        {
          ...{ network, ...program },
          ...{ sandbox: 'tool', owner: { run, callId } },
          env: { ...env, PATH: PROGRAM_PATH, LANG: 'C.UTF-8', TERM: 'dumb', ...(isHome ? { HOME: program.cwd } : {}) },
          limits: { timeoutMs, outputBytes, memoryBytes: memory * MIB, ...(found.mode === 'none' ? {} : { pids }) },
        },
        signal,
      ),
  };
}

/** Rows of what runs, for the next start. */
export function processBook(journal: Journal): ProcessBook {
  return {
    add: async (process) => void (await journal.commit([{ kind: 'process', process }])),
    remove: async (id) => void (await journal.commit([{ kind: 'process', process: { gone: id } }])),
    left: () => journal.processes.left(),
  };
}
