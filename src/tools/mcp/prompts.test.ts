// Prompts of servers, against one from npm as it is and servers that break the protocol.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mcpServers } from '../../../config/sections/mcp.ts';
import { PRIVATE, UNTRUSTED } from '../../core/authority.ts';
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
    ...{ journal, pins, version: '1.0.0', secret: (name) => name, redact: (text) => text.replaceAll('SECRET', '[redacted]') },
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

test('prompts of a server from npm are listed, and read with their arguments', async () => {
  const at = await on('everything', [EVERYTHING]);
  expect(at.names()).toEqual(expect.arrayContaining(['echo', 'list_prompts', 'get_prompt', 'read_resource']));
  const { output } = (await at.call('list_prompts')) as { output: string };
  expect(output).toMatch(/^simple-prompt \(\): .+/m);
  expect(output).toMatch(/^args-prompt \(city, state\?\): .+/m);
  expect(await at.call('get_prompt', { name: 'args-prompt', arguments: { city: 'Oslo' } })).toEqual({
    ok: true,
    output: expect.stringMatching(/^\[message of user\]\n.*Oslo/),
  });
  expect(await at.call('get_prompt', { name: 'nothing' })).toMatchObject({
    ok: false,
    output: expect.stringContaining('the MCP server everything refused the call'),
  });
});

test.each([[{}], [{ name: '' }], [{ name: 'a', arguments: { n: 7 } }], [{ name: 'a', arguments: 'x' }], ['a']])(
  'arguments that are no name with texts are refused before the server sees them: %j',
  async (given) => {
    const at = await on('marked', [SERVER, 'marked-prompts']);
    expect(await at.call('get_prompt', given as object)).toMatchObject({ ok: false });
    expect(await at.call('told')).not.toMatchObject({ output: expect.stringContaining('prompts/get') });
  },
);

test('a tool for prompts is a tool of its server: untrusted, outside, and approved with the rest', async () => {
  const at = await on('marked', [SERVER, 'marked-prompts']);
  expect(at.tools().find(({ name }) => name.endsWith('get_prompt'))).toMatchObject({
    ...{ effect: 'outside', act: 'network', tags: ['mcp', 'mcp:marked'] },
    reads: UNTRUSTED | PRIVATE,
  });
  expect((await opened.pins.of('mcp')).map(({ name }) => name)).toContain('marked/get_prompt');
});

test('A32 what a server says of its prompts stays in one line each, and a role is one of two', async () => {
  const at = await on('marked', [SERVER, 'marked-prompts']);
  const { output } = (await at.call('list_prompts')) as { output: string };
  expect(output.split('\n')).toHaveLength(1);
  expect(output).toMatch(/^one \[system\] \(a b, c\?\): x+…$/);
  expect(await at.call('get_prompt', { name: 'one' })).toEqual({
    ok: true,
    output: '[message of unknown role]\nsee [2Jthis\n[message of assistant]\n[image, image/png, 3 bytes, not shown]',
  });
});

test.each([
  ['endless-prompts', 'list_prompts', { ok: true, output: expect.stringContaining('one') }],
  ['endless-prompts', 'get_prompt', { ok: true, output: 'this prompt is empty' }],
  ['odd-prompts', 'list_prompts', { ok: false }],
  ['odd-prompts', 'get_prompt', { ok: false, output: expect.stringContaining('no valid answer') }],
  ['deep-prompts', 'list_prompts', { ok: false }],
  ['deep-prompts', 'get_prompt', { ok: false }],
  ['many-prompts', 'list_prompts', { ok: true, output: expect.stringMatching(/\n\[there are more, which are not shown\]$/) }],
  ['many-prompts', 'get_prompt', { ok: true, output: expect.stringMatching(/\n\[1900 more messages not shown\]$/) }],
] as const)('A38 of %s %s ends within its limits', async (mode, tool, expected) => {
  const at = await on(mode, [SERVER, mode]);
  expect(await at.call(tool, { name: 'one' })).toMatchObject(expected);
});

test('a tool of the server that is called the same goes before ours', async () => {
  const at = await on('own', [SERVER, 'own-prompts']);
  expect(at.names().filter((name) => name === 'get_prompt')).toHaveLength(1);
  expect(await at.call('get_prompt', { name: 'a' })).toMatchObject({ output: 'done' });
});

test('a server without prompts has no tools for them', async () => {
  const at = await on('plain', [SERVER, 'good']);
  expect(at.names()).toEqual(['do', 'told']);
});
