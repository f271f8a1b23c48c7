/**
 * `gatehouse simulate`: a platform of this machine that a person can chat on. Shipped, but loaded by that
 * command alone; what only a checkout has (emulators, Debian programs) is named when it is missing.
 */
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorText, GatehouseError, isGatehouseError } from '../core/errors.ts';
import { nearest } from '../lib/edit-distance.ts';
import { isErrno } from '../lib/errno.ts';
import { printable } from '../lib/printable.ts';
import { playTasksDemo } from './demo/tasks.ts';
import { freePort } from './free-port.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import type { SimulateOptions, SimulatorInfo } from './options.ts';
import { FORGETFUL, PLATFORMS } from './platforms/index.ts';
import type { Platform } from './platforms/platform.ts';
import { startSimulatorServer } from './server.ts';
import { Simulation } from './simulation.ts';

/** Its directory begins so, followed by its process id. */
const OURS = 'gatehouse-simulate-';

const PLAYED = { ...PLATFORMS, ...FORGETFUL };

/** Platforms that no person can be simulated on, and what to do instead. */
const NOT_PLAYED: Readonly<Record<string, string>> = {
  cli: 'that is your terminal: run `gatehouse chat`; ',
  // No channel of the program: only the sweep's own daemon knows it.
  double: '',
};

/**
 * Runs until SIGINT, SIGTERM or SIGHUP, or until the daemon that it started ends; then everything it made is
 * gone. Resolves with the exit code. Rejects with GH1001 for a channel or fault that there is not, and GH1004
 * when something it needs is missing. `path`: where programs lie, for the daemon that it starts.
 */
export async function runSimulator(
  options: SimulateOptions,
  onReady: (about: SimulatorInfo) => void,
  path: string | undefined,
): Promise<number> {
  const webhookPort = await freePort();
  const stop = Promise.withResolvers<number>();
  const interrupt = (): void => stop.resolve(0);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, interrupt);
  await removeLeft();
  const dir = await mkdtemp(join(tmpdir(), `${OURS}${process.pid}-`));
  // A pipe that is read no more ends the process at once.
  const removeNow = (): void => rmSync(dir, { recursive: true, force: true });
  process.once('exit', removeNow);
  try {
    await using platform = await startPlatform(options.channel, { webhookPort });
    const about = await prepare(dir, platform, webhookPort, options.strangers);
    await using simulation = new Simulation(platform, options.strangers ? letInWith(about.dataDir) : undefined);
    for (const { kind, times } of options.faults) simulation.fault(kind, times);
    await using server = await startSimulatorServer(simulation, options.port);
    await using gateway = options.run
      ? startGatewayProcess({ ...about, home: join(dir, 'home'), path, verbose: options.verbose })
      : undefined;
    if (gateway && !(await isReady(gateway, stop))) return await stop.promise;
    onReady({ ...about, url: server.url, faults: platform.faults, needsFirstStart: platform.needsFirstStart });
    return await stop.promise;
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
    await rm(dir, { recursive: true, force: true, maxRetries: 3 });
    process.off('exit', removeNow);
  }
}

function letInWith(dataDir: string): string {
  return `gatehouse pair approve CODE --data-dir ${dataDir}`;
}

/** What simulators left that were killed. */
async function removeLeft(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = new RegExp(`^${OURS}(\\d{1,10})-\\w{6}$`).exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    // Another user's stays.
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !isErrno(error, 'ESRCH');
  }
}

/** False when it was stopped before. A daemon that ends by itself ends the simulation, with its exit code. */
async function isReady(gateway: GatewayProcess, stop: PromiseWithResolvers<number>): Promise<boolean> {
  void gateway.ended.then((code) => stop.resolve(code));
  return await Promise.race([gateway.ready(), stop.promise.then(() => false)]);
}

async function startPlatform(channel: string, options: { readonly webhookPort: number }): Promise<Platform> {
  const names = Object.keys(PLAYED).filter((name) => !Object.hasOwn(NOT_PLAYED, name));
  const start = names.includes(channel) ? PLAYED[channel] : undefined;
  if (!start) {
    const meant = nearest(channel, names);
    const own = Object.hasOwn(NOT_PLAYED, channel) ? NOT_PLAYED[channel] : undefined;
    const advice = own ?? (meant === undefined ? '' : `did you mean ${meant}? `);
    throw new GatehouseError('GH1001', `there is no simulator for "${printable(channel.slice(0, 40))}"`, {
      hint: `${advice}there are ${names.join(', ')}`,
    });
  }
  try {
    return await start(options);
  } catch (error) {
    throw isGatehouseError(error) ? error : missing(channel, error);
  }
}

function missing(channel: string, error: unknown): GatehouseError {
  const said = errorText(error);
  const absent = /Cannot find package '([^']+)'/.exec(said)?.[1];
  if (absent === undefined)
    return new GatehouseError('GH1004', `the simulator for ${channel} did not start: ${said}`, { cause: error });
  return new GatehouseError('GH1004', `the simulator for ${channel} needs the package ${absent}, which is not installed`, {
    hint: 'run it in a checkout of gatehouse after `npm ci`: its development packages are not part of the installed program',
    cause: error,
  });
}

/** Config file and data directory for one daemon, whoever starts it. */
async function prepare(
  dir: string,
  platform: Platform,
  webhookPort: number,
  strangers: boolean,
): Promise<Pick<SimulatorInfo, 'config' | 'configFile' | 'dataDir' | 'env'>> {
  const [configFile, dataDir] = [join(dir, 'config.json'), join(dir, 'data')];
  await mkdir(dataDir, { mode: 0o700 });
  // Not above the data: the daemon would call that `~/data`, which is nothing in anybody else's terminal.
  await mkdir(join(dir, 'home'), { mode: 0o700 });
  await platform.begin(dataDir);
  const config = {
    // No one but people of this page can write, and the demo costs nothing.
    security: { accept: ['open-without-budget'] },
    gateway: {
      // Without a model of its own the daemon answers with the demo.
      channels: [{ ...platform.channel, ...(strangers ? { allowed_senders: [] } : {}), allow_demo: true }],
      // Beside a daemon that runs already.
      http: { port: 0 },
      webhooks: { port: webhookPort },
    },
  };
  await writeFile(configFile, `${JSON.stringify(config, null, 2)}\n`);
  return { config, configFile, dataDir, env: platform.env };
}

/** See `gatehouse demo tasks`. */
export async function tasksDemo(say: (line: string) => void, path: string | undefined): Promise<number> {
  return await playTasksDemo({ say, path });
}
