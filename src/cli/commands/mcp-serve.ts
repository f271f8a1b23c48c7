import { randomBytes } from 'node:crypto';
import { GatehouseError, isGatehouseError } from '../../core/errors.ts';
import { Bridge } from '../../http/mcp-server/bridge.ts';
import { unknownClient } from '../../http/mcp-server/hello.ts';
import { socketPath } from '../../http/mcp-server/socket-file.ts';
import { type Command, dataDirOf } from '../context.ts';
import { askDaemon, notRunning } from '../daemon-status.ts';
import { EXIT } from '../exit-codes.ts';

export interface McpServeOptions {
  readonly as: string;
}

/**
 * An MCP server on standard input and output, until the input ends: the daemon is behind it. Nothing else is
 * printed there.
 */
export const mcpServe: Command<McpServeOptions> = async (context, { as }) => {
  const { deps, out } = context;
  const dataDir = dataDirOf(context);
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => stop.abort(new Error(signal)));
  const bridge = new Bridge({
    client: as,
    socket: socketPath(dataDir),
    input: deps.stdio.stdin,
    output: deps.stdio.stdout,
    newId: () => randomBytes(8).toString('hex'),
    say: (text) => out.say(text),
    clock: deps.clock,
  });
  try {
    await bridge.run(stop.signal);
  } catch (error) {
    if (!isGatehouseError(error) || error.code !== 'GH1002') throw error;
    const daemon = await askDaemon(dataDir);
    // Without a client in its config, a daemon has no socket for them.
    if (daemon.kind === 'up') throw unknownClient(as);
    const { message, hint } = notRunning(daemon);
    throw new GatehouseError('GH1002', message, { hint, cause: error });
  }
  return EXIT.ok;
};
