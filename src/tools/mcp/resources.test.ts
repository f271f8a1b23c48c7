// What servers have to read, against one from npm as it is and servers that break the protocol.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mcpServers } from '../../../config/sections/mcp.ts';
import { type OpenedJournal, openJournal } from '../../journal/open.ts';
import { systemClock } from '../../lib/clock.ts';
import { MemoryLogger, tempDir, until } from '../../testing/fakes.ts';
import { runScope, toolCall } from '../../testing/tool-scope.ts';
import { McpServers } from './servers.ts';

const SERVER = join(import.meta.dirname, '../../testing/mcp-server.ts');
const EVERYTHING = join(import.meta.dirname, '../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js');

let dir: Awaited<ReturnType<typeof tempDir>>;
let opened: OpenedJournal;
let servers: McpServers;

beforeAll(async () => {
  dir = await tempDir();
  opened = await openJournal({ dir: dir.path, clock: systemClock });
  const { journal, pins } = opened;
  servers = new McpServers({
    ...{ dataDir: dir.path, env: { PATH: process.env['PATH'] ?? '' }, clock: systemClock, logger: new MemoryLogger() },
    ...{ journal, pins, version: '1.0.0', secret: (name) => name, redact: (text) => text.replaceAll('note://', '[redacted]') },
  });
});

afterAll(async () => {
  await servers[Symbol.asyncDispose]();
  await opened[Symbol.asyncDispose]();
  await dir[Symbol.asyncDispose]();
});

/** Calls tools of one server by the names that it has for them. */
async function on(name: string, args: readonly string[]) {
  await servers.apply(mcpServers.parse({ [name]: { command: process.execPath, args, pin: 'first-use', timeout_secs: 5 } }));
  const [source] = servers.sources();
  await until('it is up', () => servers.status()[0]?.state === 'up');
  const names = () => source?.tools(runScope()).map(({ name: id }) => id.replace(`mcp__${name}__`, '')) ?? [];
  const call = async (tool: string, given: object = {}) =>
    (await source
      ?.tools(runScope())
      .find(({ name: id }) => id === `mcp__${name}__${tool}`)
      ?.run(given, toolCall({ workspace: dir.path }))) ?? 'no such tool';
  return { names, call, tools: () => source?.tools(runScope()) ?? [] };
}

test('what a server from npm has to read is listed with its templates, and read', async () => {
  const at = await on('everything', [EVERYTHING]);
  expect(at.names()).toEqual(expect.arrayContaining(['echo', 'list_resources', 'read_resource']));
  const list = await at.call('list_resources');
  expect(list).toMatchObject({ ok: true, output: expect.stringMatching(/^demo:\/\/.*\n/) });
  const { output } = list as { output: string };
  expect(output).toMatch(/\ntemplate demo:\/\//);
  const [uri] = output.split(' ');
  expect(await at.call('read_resource', { uri })).toMatchObject({
    ok: true,
    output: expect.stringContaining(`[resource ${uri}]`),
  });
  expect(await at.call('read_resource', { uri: 'demo://nowhere' })).toMatchObject({
    ok: false,
    output: expect.stringContaining('the MCP server everything refused the call'),
  });
  expect(await at.call('read_resource', { uri: 7 })).toMatchObject({ ok: false, output: expect.stringContaining('uri must be') });
});

test('a tool for resources is a tool of its server: untrusted, outside, and approved with the rest', async () => {
  const at = await on('marked', [SERVER, 'marked-resources']);
  const read = at.tools().find(({ name }) => name.endsWith('read_resource'));
  expect(read).toMatchObject({ effect: 'outside', act: 'network', tags: ['mcp', 'mcp:marked'] });
  expect((await opened.pins.of('mcp')).map(({ name }) => name)).toContain('marked/read_resource');
});

test('A32 what a server says of its resources stays in one line each, without characters that people cannot see', async () => {
  const at = await on('marked', [SERVER, 'marked-resources']);
  const { output } = (await at.call('list_resources')) as { output: string };
  expect(output.split('\n')).toHaveLength(1);
  expect(output).toMatch(/^\[redacted\]1 \[system\] /);
  expect(output).not.toContain('\u202e');
  expect(output.length).toBeLessThan(500);
  const { output: text } = (await at.call('read_resource', { uri: 'a' })) as { output: string };
  expect(text).toContain('[resource a b]\nsee ');
  expect(text).toContain('[resource p, image/png, 3 bytes, not shown]');
  expect(text).not.toContain('\u202e');
  expect(text).not.toContain('\u001b');
});

test.each([
  ['endless-resources', 'list_resources', { ok: true, output: expect.stringContaining('one') }],
  ['endless-resources', 'read_resource', { ok: true, output: 'there is nothing at this address' }],
  ['odd-resources', 'list_resources', { ok: false }],
  ['odd-resources', 'read_resource', { ok: false, output: expect.stringContaining('no valid answer') }],
  ['deep-resources', 'read_resource', { ok: false }],
] as const)('A38 of %s %s ends within its limits', async (mode, tool, expected) => {
  const at = await on(mode, [SERVER, mode]);
  expect(await at.call(tool, { uri: 'note://1' })).toMatchObject(expected);
});

test('a tool of the server that is called the same goes before ours', async () => {
  const at = await on('own', [SERVER, 'own-resources']);
  expect(at.names().filter((name) => name === 'read_resource')).toHaveLength(1);
  expect(await at.call('read_resource', { uri: 'a' })).toMatchObject({ output: 'done' });
});

test('a server without resources has no tools for them', async () => {
  const at = await on('plain', [SERVER, 'good']);
  expect(at.names()).toEqual(['do', 'told']);
});
