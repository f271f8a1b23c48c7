import { GatehouseError } from '../../core/errors.ts';
import { serveWorker, type WorkerAddress } from '../../sandbox/serve.ts';
import type { Command } from '../context.ts';
import { EXIT } from '../exit-codes.ts';

export interface WorkerFlags {
  readonly fd?: string;
  readonly socket?: string;
}

/** Runs programs for the daemon until its connection ends. Reads no config and needs no data directory. */
export const toolsWorker: Command<WorkerFlags> = async ({ deps }, flags) => {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort(new Error(signal)));
  await serveWorker(addressOf(flags, deps.env), deps.clock, stop.signal);
  return EXIT.ok;
};

function addressOf({ fd, socket }: WorkerFlags, env: Readonly<Record<string, string | undefined>>): WorkerAddress {
  if (fd !== undefined && /^\d{1,4}$/.test(fd)) return { fd: Number(fd) };
  if (socket !== undefined && fd === undefined) return { socket };
  if (fd === undefined && env['LISTEN_FDS'] === '1' && env['LISTEN_PID'] === String(process.pid)) return 'given';
  throw new GatehouseError('GH1001', 'the worker was given no socket', {
    hint: 'the daemon and gatehouse-tools.socket start it; by hand, name `--socket FILE`',
  });
}
