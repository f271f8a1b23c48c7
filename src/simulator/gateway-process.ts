import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { type DaemonRecord, statusHeaders } from '../core/status.ts';
import type { SimulatorInfo } from './options.ts';

const LOOK_MS = 50;
/** Tells the daemon to end when the channel to the process that started it breaks (`cli/wiring.ts`). */
const ENDS_WITH_PARENT = 'GATEHOUSE_ENDS_WITH_PARENT';
/** After SIGTERM: longer than the daemon's own grace for turns and sends. */
const END_MS = 20_000;

export interface GatewayProcess extends AsyncDisposable {
  /** Resolves with its exit code. */
  readonly ended: Promise<number>;
  /** Resolves with true once its channel takes messages, with false when it ended before. */
  ready(): Promise<boolean>;
}

/**
 * The program as users start it, from the sources or from `dist` as this file is. It gets the platform's
 * secrets and no other.
 */
export function startGatewayProcess(
  options: Pick<SimulatorInfo, 'configFile' | 'dataDir' | 'env'> & {
    readonly home: string;
    readonly path: string | undefined;
    readonly verbose: boolean;
  },
): GatewayProcess {
  const { configFile, dataDir, env, home, path, verbose } = options;
  const main = join(import.meta.dirname, `../cli/main${extname(import.meta.filename)}`);
  const args = [main, 'gateway', '--config', configFile, '--data-dir', dataDir, ...(verbose ? ['-v'] : [])];
  const child = spawn(process.execPath, args, {
    // A key of the person who tries this out must not be spent.
    env: { PATH: path, HOME: home, TMPDIR: tmpdir(), [ENDS_WITH_PARENT]: '1', ...env },
    // The channel breaks with this process, whatever ends it: also a signal that nothing can catch.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // A group of its own: Ctrl-C reaches us alone. The daemon, told once and not twice, cuts no answer off.
    detached: true,
  });
  let gone = false;
  const ended = once(child, 'close').then(([code]: unknown[]) => {
    gone = true;
    return typeof code === 'number' ? code : 1;
  });
  return {
    ended,
    async ready() {
      while (!gone && !(await serves(dataDir))) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      return !gone;
    },
    async [Symbol.asyncDispose]() {
      if (gone) return;
      child.kill('SIGTERM');
      const kill = setTimeout(() => child.kill('SIGKILL'), END_MS);
      await ended;
      clearTimeout(kill);
    },
  };
}

/** Its record is written once it serves; the channel may still be connecting. */
async function serves(dataDir: string): Promise<boolean> {
  try {
    const record = JSON.parse(await readFile(join(dataDir, 'daemon.json'), 'utf8')) as DaemonRecord;
    const response = await fetch(`http://127.0.0.1:${record.port}/status`, { headers: statusHeaders(record) });
    const { channels } = (await response.json()) as { channels: readonly { state: string }[] };
    return channels.every(({ state }) => state === 'healthy');
  } catch {
    return false;
  }
}
