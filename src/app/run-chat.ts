import { chatDirOf } from '../../config/paths.ts';
import { CHAT_ITERATIONS } from '../runs/profile.ts';
import { runGateway } from './run-gateway.ts';
import type { RunOptions } from './run-options.ts';

/**
 * What was approved of a server stands in the record of the daemon, which this one does not read, and clients
 * are the daemon's.
 */
const ALONE = { mcp_servers: {}, mcp_clients: {} } as const;

/**
 * `gatehouse chat`: the same daemon with the terminal as its only channel and a data directory of its own
 * below the daemon's, so that it runs beside one. Resolves with 0, or 1 when a message ended without an
 * answer of the model.
 */
export async function runChat(options: RunOptions): Promise<number> {
  const { config } = options.config;
  const channels = [
    {
      type: 'cli',
      allowed_senders: [],
      allowed_groups: [],
      group_mode: 'mention' as const,
      group_patterns: [],
      streaming: 'edit' as const,
      settings: {},
    },
  ];
  const gateway = { ...config.gateway, channels, owner: [], http: { ...config.gateway.http, port: 0 } };
  let failed = false;
  const code = await runGateway({
    ...options,
    quiet: true,
    config: {
      ...options.config,
      config: { ...config, max_iterations: config.max_iterations ?? CHAT_ITERATIONS, gateway, ...ALONE },
    },
    dataDir: chatDirOf(options.dataDir),
    loginDir: options.dataDir,
    otherLedger: options.dataDir,
    observe: (event) => {
      if (event.type === 'finished' && event.outcome.startsWith('failed:')) failed = true;
    },
  });
  return code === 0 && failed ? 1 : code;
}
