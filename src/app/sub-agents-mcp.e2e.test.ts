// Sub-agents and the servers of MCP: whose session a call goes through, and when that ends.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ModelRequest } from '../core/model.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { testDaemon } from '../testing/test-daemon.ts';

const FULL = { members: ['*'], senders: { 'test:user-1': { mode: 'full' } } };
const SERVER = join(import.meta.dirname, '../testing/mcp-server.ts');

const resultsOf = ({ messages }: ModelRequest) => messages.filter(({ role }) => role === 'tool').map(({ content }) => content);

/** What the server was told in the session of a sub-agent, after a run of another chat has called `do`. */
async function toldTo(begin: { name: string; arguments: Record<string, unknown> }) {
  await using dir = await tempDir();
  const mark = `mark-${process.pid}-${begin.name}`;
  const servers = () => execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).split(mark).length - 1;
  const seen: number[] = [];
  const model = scriptedModel((request) => {
    const results = resultsOf(request);
    const isChild = request.messages.some(({ content }) => content.startsWith('[You are a sub-agent'));
    if (isChild && results.length > 0) seen.push(servers());
    if (isChild) return results.length === 0 ? { toolCalls: [{ name: 'mcp__odd__told' }] } : `${results[0]}`;
    const isOther = request.messages.at(1)?.content === 'warm up';
    if (results.length === 0) return { toolCalls: [isOther ? { name: 'mcp__odd__do' } : begin] };
    return `all: ${results[0]}`;
  });
  const mcp = { odd: { command: process.execPath, args: [SERVER, 'good', mark], pin: 'first-use' } };
  const programEnv = { PATH: process.env['PATH'] ?? '' };
  await using rig = await testDaemon({ dataDir: dir.path, model, policy: FULL, mcp, daemon: { programEnv } });
  await until('the server is up', () => rig.daemon.mcp.status().every(({ state }) => state === 'up'));
  await rig.channel.deliver({ text: 'warm up', chatId: 'other' });
  await until('the shared session was used', () => rig.channel.texts('other').length > 0);
  await rig.channel.deliver({ text: 'go', platformId: 'go' });
  await until('it is answered', () => rig.channel.texts().at(-1)?.startsWith('all: '));
  await until('no session is left but the daemon’s', () => servers() === 1);
  return { told: rig.channel.texts().at(-1) ?? '', atOnce: seen[0] };
}

test('one that is dispatched has a session of its own, which ends with it', async () => {
  const { told, atOnce } = await toldTo({ name: 'dispatch_subagent', arguments: { task_description: 'ask' } });
  expect(told).toContain('initialize');
  expect(told.match(/tools\/call/g)).toHaveLength(1);
  expect(atOnce).toBe(2);
});

test('one that is spawned shares that of the daemon', async () => {
  const { told, atOnce } = await toldTo({ name: 'spawn', arguments: { task: 'ask', mode: 'sync' } });
  expect(told.match(/tools\/call/g)).toHaveLength(2);
  expect(atOnce).toBe(1);
});
