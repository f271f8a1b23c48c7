/** The whole program from its command line on, in the test's process: a tenth of what its own would cost. */
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { Ending } from '../app/ending.ts';
import { runGateway } from '../app/run-gateway.ts';
import { runCli } from '../cli/program.ts';
import { processDeps } from '../cli/wiring.ts';
import type { Connector } from '../egress/connect.ts';
import { countFile } from './child-daemon.ts';
import { faultParts } from './fault-parts.ts';
import { type DaemonFiles, type Ended, type RunningDaemon, watchDaemon, writeDaemonFiles } from './running-daemon.ts';

export interface InlineOptions extends DaemonFiles {
  /** Has the channel `double` and the tool `count`, as a daemon that is started with `killAt`. */
  readonly faultParts?: boolean;
  /** The web that its tools reach. */
  readonly connector?: Connector;
}

/**
 * Does not wait until it is ready. What is to be killed, or reads a signal, a terminal or /proc,
 * wants `startChild`.
 */
export async function startInline(options: InlineOptions): Promise<RunningDaemon> {
  const { dir, env = {}, args = [], connector } = options;
  const { dataDir, file } = await writeDaemonFiles(options);
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const text = { out: '', err: '' };
  stdout.on('data', (chunk) => {
    text.out += String(chunk);
  });
  stderr.on('data', (chunk) => {
    text.err += String(chunk);
  });
  const ending = new Ending();
  const deps = processDeps();
  const parts = options.faultParts ? faultParts(countFile(dir)) : undefined;
  const channels = parts && {
    channelTypes: Object.keys(parts.registry),
    channelSettings: async (type: string) => (await Reflect.get(parts.registry, type)?.())?.settings,
    groupIds: async (type: string) => (await Reflect.get(parts.registry, type)?.())?.groupId,
  };
  const argv = ['gateway', '--config', file, '--data-dir', dataDir, ...args];
  const ended = runCli(argv, {
    ...{ ...deps, ...channels },
    stdio: { stdin: Readable.from([]), stdout, stderr },
    // Nothing of this process's environment but what any program needs, as `startChild`.
    env: { PATH: process.env['PATH'], HOME: dir, ...env },
    cwd: dir,
    home: dir,
    runGateway: (run) => runGateway({ ...run, ...parts, ...(connector ? { connector } : {}), ending }),
  }).then((code): Ended => ({ code, signal: null }));
  const recordFile = (): string => join(dataDir, 'daemon.json');
  return {
    ...watchDaemon({ dataDir, ended, stdout: () => text.out, stderr: () => text.err, recordFile }),
    stop: async () => {
      ending.end(0, 'SIGTERM');
      return await ended;
    },
    [Symbol.asyncDispose]: async () => {
      // Not in order: nobody waits for a turn that hangs.
      ending.end(1, 'the test is over');
      await ended;
    },
  };
}
