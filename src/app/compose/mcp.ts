import { basename } from 'node:path';
import { errorText } from '../../core/errors.ts';
import type { Journal } from '../../core/journal.ts';
import type { Logger } from '../../core/ports.ts';
import { packageVersion } from '../../lib/package-info.ts';
import { startOf } from '../../sandbox/kernel-process.ts';
import { McpServers } from '../../tools/mcp/servers.ts';
import type { RecordProcess } from '../../tools/mcp/stdio-process.ts';
import type { Plugins } from '../../tools/plugins/plugins.ts';
import { type DaemonOptions, redactOf } from './options.ts';
import { processBook } from './sandbox.ts';
import type { Stores } from './store.ts';

/**
 * The MCP servers of the config and of plugins, which are being started; a daemon without any loads nothing
 * for them.
 */
export async function composeMcp(
  options: DaemonOptions,
  { opened, journal, plugins }: Pick<Stores, 'opened' | 'journal'> & { readonly plugins: Plugins },
): Promise<McpServers> {
  const { config, dataDir, clock, logger, secret, programEnv: env = {} } = options;
  const redact = redactOf(options);
  const servers = new McpServers({
    dataDir,
    env,
    secret,
    clock,
    logger,
    redact,
    journal,
    pins: opened.pins,
    record: recordIn(journal, logger),
    version: packageVersion(),
    others: () => plugins.servers(),
  });
  options.addSecrets?.(() => servers.secrets());
  await servers.closeLost();
  await servers.apply(config.mcp_servers);
  journal.onOutsideChange(() => servers.look());
  plugins.onChange(() => {
    servers.again().catch((error: unknown) => logger.warn('mcp.not-changed', { detail: errorText(error) }));
  });
  return servers;
}

/** The row is on disk before a server begins, and the next start ends what it finds. */
function recordIn(journal: Journal, logger: Logger): RecordProcess {
  const book = processBook(journal);
  return async ({ id, pid, program }) => {
    const started = await startOf(pid);
    if (started === undefined) return () => undefined;
    await book.add({ id, pgid: pid, started, program: basename(program).slice(0, 100) });
    return () => void book.remove(id).catch((error: unknown) => logger.warn('process.row-stays', { detail: errorText(error) }));
  };
}
