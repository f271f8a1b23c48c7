/**
 * Our client as the conformance suite of MCP starts it: `mcp-conformance-client.ts URL`, with a scenario in
 * the environment.
 */
import { mcpServers } from '../../config/sections/mcp.ts';
import { systemClock } from '../lib/clock.ts';
import { McpConnection } from '../tools/mcp/client.ts';
import { wireFor } from '../tools/mcp/wire.ts';
import { MemoryLogger } from './fakes.ts';

/** Tools that a scenario wants called, with what it is given. */
const CALLS: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  tools_call: { add_numbers: { a: 5, b: 3 } },
  'sse-retry': { test_reconnection: {} },
  'elicitation-sep1034-client-defaults': { test_client_elicitation_defaults: {} },
};

const [url = ''] = process.argv.slice(2);
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const entry = mcpServers.parse({ peer: { url, allow_private: true } })['peer'];
if (!entry) throw new Error('no entry');
const { signal } = new AbortController();
const options = { dataDir: '/nowhere', env: {}, secret: (name: string) => name, clock: systemClock, logger: new MemoryLogger() };
await using connection = await McpConnection.open(await wireFor('peer', entry, options), {
  ...{ version: '1', clock: systemClock, signal, onListChanged: () => undefined, onRefused: () => undefined, asksPeople: true },
});
await connection.listTools(signal);
for (const [name, args] of Object.entries(CALLS[scenario] ?? {})) {
  const { answer } = await connection.call(name, args, {
    timeoutMs: 20_000,
    signal,
    elicit: async () => ({ action: 'accept', content: {} }),
  });
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
