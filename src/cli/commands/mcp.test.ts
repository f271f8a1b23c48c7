import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openJournal } from '../../journal/open.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';

const MEMORY = join(import.meta.dirname, '../../../node_modules/@modelcontextprotocol/server-memory/dist/index.js');

/** A command line beside a real journal. The config has npm's memory server and one that does not exist. */
async function cliWith(entry: Record<string, unknown> = {}) {
  const dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.env = { PATH: process.env['PATH'] };
  cli.openJournal = (options) => openJournal({ ...options, sync: 'in-commit' });
  const servers = {
    notes: { command: process.execPath, args: [MEMORY], ...entry },
    gone: { command: join(dir.path, 'no-such-program') },
  };
  await cli.write('.gatehouse/config.json', JSON.stringify({ version: 1, mcp_servers: servers }));
  return Object.assign(cli, { [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() });
}

test('mcp list shows the servers of the config and how many of their tools are approved', async () => {
  await using cli = await cliWith({ enabled: false });
  const { code, stdout } = await cli.run('mcp', 'list', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout).servers).toMatchObject([
    { name: 'notes', kind: 'stdio', enabled: false, approved: 0 },
    { name: 'gone', kind: 'stdio', enabled: true, approved: 0 },
  ]);
  expect((await cli.run('mcp', 'list')).stdout).toMatch(/notes +off +0 approved/);
});

test('mcp test shows all that a server says of its tools, and that none is approved', async () => {
  await using cli = await cliWith();
  const { code, stdout, stderr } = await cli.run('mcp', 'test', 'notes');
  expect(code).toBe(0);
  expect(stdout).toContain('mcp__notes__create_entities (new)\n  Create multiple new entities');
  expect(stdout).toContain('"entities"');
  expect(stderr).toMatch(/notes works: 11 tools, 11 not approved/);
});

test('what is approved stays approved until it is taken back', async () => {
  await using cli = await cliWith();
  const one = JSON.parse((await cli.run('mcp', 'approve', 'notes', '--tool', 'read_graph', '--yes', '--json')).stdout);
  expect(one.approved).toEqual([{ tool: 'mcp__notes__read_graph', digest: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
  expect((await cli.run('mcp', 'test', 'notes')).stdout).toContain('mcp__notes__read_graph (approved)');
  expect((await cli.run('mcp', 'approve', 'notes', '--yes')).stdout).toContain('10 tools of notes approved');
  expect((await cli.run('mcp', 'approve', 'notes')).stdout).toContain('nothing of notes is new or changed');
  expect(JSON.parse((await cli.run('mcp', 'list', '--json')).stdout).servers[0].approved).toBe(11);
  expect((await cli.run('mcp', 'remove', 'notes')).stdout).toContain('11 tools of notes approved no more');
  expect((await cli.run('mcp', 'remove', 'notes')).code).toBe(1);
  const audit = JSON.parse((await cli.run('people', 'audit', '--json')).stdout);
  expect(JSON.stringify(audit)).toContain('mcp.approved');
});

test('nothing is approved without a yes', async () => {
  await using cli = await cliWith();
  const piped = await cli.run('mcp', 'approve', 'notes');
  expect(piped).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  cli.answers = ['n'];
  expect((await cli.run('mcp', 'approve', 'notes')).stderr).toContain('nothing was approved');
  cli.answers = ['y'];
  expect((await cli.run('mcp', 'approve', 'notes')).stdout).toContain('11 tools of notes approved');
});

test('a server that does not work is named with the reason', async () => {
  await using cli = await cliWith();
  expect(await cli.run('mcp', 'test', 'gone')).toMatchObject({ code: 1, stderr: expect.stringContaining('is not installed') });
  expect(await cli.run('mcp', 'test', 'other')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no MCP server other'),
  });
});

test('a server is asked with a variable that was stored, as the daemon asks it', async () => {
  await using cli = await cliWith({ env: ['NOTES_KEY'] });
  expect((await cli.run('mcp', 'test', 'notes')).stderr).toContain('NOTES_KEY is not set');
  cli.input = 'secret-of-notes';
  await cli.run('auth', 'set-key', 'NOTES_KEY');
  cli.input = undefined;
  expect((await cli.run('mcp', 'approve', 'notes', '--yes')).stdout).toContain('11 tools of notes approved');
});

test('a variable that is also the usual one of a provider is stored for the server that is given it', async () => {
  await using cli = await cliWith({ env: ['OPENAI_API_KEY'] });
  cli.input = 'secret-of-notes';
  expect((await cli.run('auth', 'set-key', 'OPENAI_API_KEY')).stdout).toBe('✓ stored OPENAI_API_KEY\n');
  cli.input = undefined;
  expect((await cli.run('mcp', 'test', 'notes')).code).toBe(0);
});
