import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { mcpServers } from '../../../config/sections/mcp.ts';
import { systemClock } from '../../lib/clock.ts';
import { MemoryLogger, tempDir } from '../../testing/fakes.ts';
import { McpConnection } from './client.ts';
import { listServer } from './look.ts';
import type { ServerTool } from './offered.ts';
import { OwnSession } from './own-session.ts';
import { wireFor } from './wire.ts';

const SERVER = join(import.meta.dirname, '../../testing/mcp-server.ts');
const { signal } = new AbortController();

test('after its connection broke the next call goes over a new one', async () => {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const servers = mcpServers.parse({ odd: { command: process.execPath, args: [SERVER, 'dies-in-call'], pin: 'first-use' } });
  const entry = servers['odd'];
  if (!entry) throw new Error('no entry');
  const env = { PATH: process.env['PATH'] ?? '' };
  const wire = () =>
    wireFor('odd', entry, { dataDir: dir.path, env, clock: systemClock, logger: new MemoryLogger(), secret: (name) => name });
  const options = { clock: systemClock, version: '1.0.0', onRefused: () => undefined };
  const tools: ServerTool[] = [];
  {
    await using first = await McpConnection.open(await wire(), { ...options, signal, onListChanged: () => undefined });
    tools.push(...(await listServer(first, 'odd', entry, signal)).tools);
  }
  const [tool] = tools;
  if (!tool) throw new Error('no tool');

  await using own = new OwnSession({ ...options, server: 'odd', entry, wire });
  const broken = await own.connection(tool);
  expect(await own.connection(tool)).toBe(broken);
  await expect(broken?.call('do', {}, { timeoutMs: 20_000, signal })).rejects.toThrow('ended with SIGKILL');
  const next = await own.connection(tool);
  expect(await next?.call('told', {}, { timeoutMs: 20_000, signal })).toMatchObject({ notes: [] });
});
