import { execFile } from 'node:child_process';
import { access, appendFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { openJournal } from '../../journal/open.ts';
import { systemClock } from '../../lib/clock.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { type MadePlugin, makePlugin, toolNamed } from '../../testing/plugin.ts';
import { tarGz } from '../../testing/tar.ts';
import { offeredTools } from '../../tools/mcp/offered.ts';
import { approve } from '../../tools/mcp/pin.ts';

/** A command line beside a real journal, and one plugin, which leaves a mark where it is run. */
async function cliWith(made: Partial<MadePlugin> = {}) {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  const cli = new FakeCli(dir.path);
  cli.openJournal = (options) => openJournal({ ...options, sync: 'in-commit' });
  await cli.write('.gatehouse/config.json', JSON.stringify({ version: 1, sandbox: {} }));
  const mark = join(dir.path, 'was-run');
  const source = await makePlugin(dir.path, { name: 'greet', script: `#!/bin/sh\ntouch ${mark}\n`, ...made });
  const json = async (...argv: string[]) => JSON.parse((await cli.run(...argv, '--json')).stdout);
  const kinds = async () =>
    (await json('people', 'audit')).audit.map((entry: { kind: string; subject: string }) => `${entry.kind} ${entry.subject}`);
  return Object.assign(cli, { source, mark, json, kinds });
}

const names = (path: string): Promise<readonly string[]> => readdir(path).catch(() => []);

const PARTS = {
  manifest: {
    mcp_servers: { files: { command: './server', args: ['--all'] } },
    hooks: [{ event: 'before_tool_call', command: ['./hook', 'x'] }],
  },
  files: { server: '#!/bin/sh\n', hook: '#!/bin/sh\n' },
};

test('a plugin that is added is shown whole, asked about, approved and listed, and nothing of it is run', async () => {
  const cli = await cliWith();
  cli.answers = ['y'];
  const added = await cli.run('plugins', 'add', 'greet');
  expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining('greet 1.0.0 was added and is enabled') });
  expect(added.stdout).toMatch(/tool plugin__greet__hello, which changes: outside\n {4}Does hello\./);
  expect(await cli.json('plugins', 'list')).toMatchObject({
    plugins: [
      { name: 'greet', state: 'enabled', version: '1.0.0', tools: ['plugin__greet__hello'], network: { allowed: false } },
    ],
  });
  expect(await cli.kinds()).toEqual(['plugin.approved plugin:greet']);
  expect((await cli.run('tools', 'list')).stdout).toMatch(/plugin__greet__hello +(?:asks|no)/);
  await expect(access(cli.mark)).rejects.toThrow();
});

test('what is decided on is seen where the answer is a document, too, and what it lacks is named', async () => {
  const cli = await cliWith({ manifest: { binaries: ['no-such-program'] } });
  cli.answers = ['y'];
  const { stdout, stderr } = await cli.run('plugins', 'add', 'greet', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, plugin: 'greet' });
  expect(stderr).toContain('tool plugin__greet__hello');
  expect(stderr).toContain('it needs the program no-such-program, which is not installed: until it is, none');
  expect(await cli.json('plugins', 'list')).toMatchObject({ plugins: [{ state: 'broken', detail: expect.any(String) }] });
});

test('what was answered with no leaves nothing behind, and without a terminal nothing is approved', async () => {
  const cli = await cliWith();
  expect(await cli.run('plugins', 'add', 'greet')).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  cli.answers = ['n'];
  expect(await cli.run('plugins', 'add', 'greet')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('nothing was approved'),
  });
  for (const place of ['plugins', 'plugin-copies']) expect(await names(join(cli.dataDir, place))).toEqual([]);
  expect(await cli.json('plugins', 'list')).toMatchObject({ plugins: [] });
  expect(await cli.kinds()).toEqual([]);
});

test('a plugin that was put there by hand is not approved, one that changes is not approved any more', async () => {
  const cli = await cliWith();
  await makePlugin(join(cli.dataDir, 'plugins'), { name: 'greet', script: '#!/bin/sh\necho hi\n' });
  const state = async () => (await cli.json('plugins', 'list')).plugins[0].state;
  expect(await state()).toBe('new');
  expect((await cli.run('plugins', 'enable', 'greet', '--yes')).code).toBe(0);
  expect(await state()).toBe('enabled');
  expect((await cli.run('plugins', 'enable', 'greet')).stdout).toContain('enabled already');

  await appendFile(join(cli.dataDir, 'plugins/greet/main'), 'rm -rf ~\n');
  expect(await state()).toBe('changed');
  expect((await cli.run('plugins', 'enable', 'greet')).code).toBe(2);
  expect((await cli.run('plugins', 'enable', 'greet', '--yes')).code).toBe(0);
  expect(await state()).toBe('enabled');
  // Only what may be run is kept.
  expect(await names(join(cli.dataDir, 'plugin-copies'))).toHaveLength(1);
});

test('the network is given only to a plugin that wants it, by a word of its own', async () => {
  const cli = await cliWith({ manifest: { requires_network: true, env: ['GREET_TOKEN'] } });
  const network = async () => (await cli.json('plugins', 'list')).plugins[0].network;
  expect((await cli.run('plugins', 'add', 'greet', '--yes')).stdout).toMatch(/network: wanted\n.*GREET_TOKEN/);
  expect(await network()).toEqual({ wanted: true, allowed: false });
  expect((await cli.run('plugins', 'list')).stdout).toContain('no network (wants it), GREET_TOKEN');
  cli.answers = ['y', 'y'];
  expect((await cli.run('plugins', 'add', 'greet')).code).toBe(0);
  expect(await network()).toEqual({ wanted: true, allowed: true });

  const other = await cliWith();
  expect(await other.run('plugins', 'add', 'greet', '--network', '--yes')).toMatchObject({ code: 2 });
});

test('servers and hooks are approved one by one, shown whole, and end with the bytes they were approved for', async () => {
  const cli = await cliWith(PARTS);
  const added = await cli.run('plugins', 'add', 'greet', '--yes');
  expect(added.stdout).toMatch(/wants MCP server files\. It runs as you do, outside the sandbox/);
  expect(added.stderr).toContain('servers and hooks are off until you approve each');
  const parts = async () => {
    const [{ servers, hooks }] = (await cli.json('plugins', 'list')).plugins;
    return [...servers, ...hooks].map(({ approved }) => approved);
  };
  expect(await parts()).toEqual([false, false]);
  expect(await cli.json('mcp', 'list')).toMatchObject({ servers: [] });
  expect(await cli.run('plugins', 'enable', 'greet', '--server', 'files')).toMatchObject({ code: 2 });
  cli.answers = ['y'];
  const asked = await cli.run('plugins', 'enable', 'greet', '--server', 'files');
  expect(asked.stdout).toContain('"./server"');
  expect(asked.stdout).toContain('"--all"');
  expect(await parts()).toEqual([true, false]);
  expect(await cli.json('mcp', 'list')).toMatchObject({ servers: [{ name: 'greet_files', kind: 'stdio' }] });
  expect((await cli.run('plugins', 'enable', 'greet', '--hook', '0', '--yes')).code).toBe(0);
  expect(await parts()).toEqual([true, true]);
  expect((await cli.run('plugins', 'disable', 'greet', '--server', 'files')).code).toBe(0);
  expect(await parts()).toEqual([false, true]);
  for (const [flag, value] of [
    ['--server', 'other'],
    ['--hook', '1'],
    ['--hook', '-1'],
    ['--server', '__proto__'],
  ] as const)
    expect(await cli.run('plugins', 'enable', 'greet', `${flag}=${value}`, '--yes')).toMatchObject({ code: 1 });

  await writeFile(join(cli.dataDir, 'plugins/greet/more'), 'x');
  expect((await cli.run('plugins', 'enable', 'greet', '--yes')).code).toBe(0);
  expect(await parts()).toEqual([false, false]);
  expect(await cli.kinds()).toEqual(
    ['approved', 'approved', 'approved', 'disabled', 'approved'].map((what) => `plugin.${what} plugin:greet`),
  );
});

test('what was approved of a plugin stays when it is given more and its files are the same', async () => {
  const cli = await cliWith({ ...PARTS, manifest: { ...PARTS.manifest, requires_network: true } });
  const enable = async (...argv: string[]) => await cli.run('plugins', 'enable', 'greet', ...argv, '--yes');
  await cli.run('plugins', 'add', 'greet', '--yes');
  for (const part of ['--hook=0', '--server=files']) await enable(part);
  expect((await enable('--network')).stderr).not.toContain('are off until');
  expect((await enable('--trust-effects')).stderr).toBe('');
  const [listed] = (await cli.json('plugins', 'list')).plugins;
  expect(listed).toMatchObject({ network: { allowed: true }, trustsEffects: true });
  expect(listed).toMatchObject({ servers: [{ approved: true }], hooks: [{ approved: true }] });

  await cli.run('plugins', 'add', 'greet', '--yes');
  const [again] = (await cli.json('plugins', 'list')).plugins;
  expect(again).toMatchObject({ network: { allowed: false }, trustsEffects: false, hooks: [{ approved: true }] });
});

test('a plugin is turned off and on without a question, and removed with all that was approved of it', async () => {
  const cli = await cliWith();
  await cli.run('plugins', 'add', 'greet', '--yes');
  expect((await cli.run('plugins', 'disable', 'greet')).stdout).toContain('greet is disabled');
  expect((await cli.json('plugins', 'list')).plugins[0].state).toBe('disabled');
  expect((await cli.run('tools', 'list')).stdout).not.toContain('plugin__greet');
  expect((await cli.run('plugins', 'enable', 'greet')).stdout).toContain('as it was approved');
  expect((await cli.json('plugins', 'list')).plugins[0].state).toBe('enabled');
  expect(await cli.json('plugins', 'remove', 'greet')).toMatchObject({ plugin: 'greet', approvals: true, files: true });
  for (const place of ['plugins', 'plugin-copies']) expect(await names(join(cli.dataDir, place))).toEqual([]);
  expect(await cli.run('plugins', 'remove', 'greet')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no plugin greet'),
  });
  expect((await cli.kinds()).at(-1)).toBe('plugin.removed plugin:greet');
});

test('a plugin that is broken is removed with what was approved of the tools of its servers', async () => {
  const cli = await cliWith(PARTS);
  await cli.run('plugins', 'add', 'greet', '--yes');
  const open = () => openJournal({ dir: cli.dataDir, clock: systemClock, sync: 'in-commit' });
  const tools = offeredTools('greet_files', [{ name: 'read', inputSchema: { type: 'object' } }]).tools;
  {
    await using opened = await open();
    for (const server of ['greet_files', 'greet-two_files', 'greeting']) await approve(opened.journal, server, tools, 'cli');
  }
  await rm(join(cli.dataDir, 'plugins/greet'), { recursive: true });
  expect((await cli.run('plugins', 'remove', 'greet')).code).toBe(0);
  await using opened = await open();
  const left = (await opened.pins.of('mcp')).map(({ name }) => name).sort();
  expect(left).toEqual(['greet-two_files/read', 'greeting/read']);
});

test('an archive as tar makes it is unpacked, with or without a directory around it', async () => {
  const cli = await cliWith();
  await promisify(execFile)('tar', ['-czf', 'a.tar.gz', 'greet'], { cwd: cli.dir });
  await promisify(execFile)('tar', ['-czf', '../b.tgz', '.'], { cwd: cli.source });
  for (const archive of ['a.tar.gz', 'b.tgz']) {
    expect(await cli.run('plugins', 'add', archive, '--yes'), archive).toMatchObject({ code: 0 });
    expect((await cli.json('plugins', 'list')).plugins[0].state).toBe('enabled');
  }
  expect(await names(join(cli.dataDir, 'plugins'))).toEqual(['greet']);
});

test('A47 nothing is fetched: an address, a missing file and another kind of archive are refused', async () => {
  const cli = await cliWith();
  await cli.write('plain.zip', 'PK');
  await cli.write('broken.tar.gz', 'no archive');
  for (const [path, code, text] of [
    ['https://example.org/greet.tar.gz', 2, 'never fetched from an address'],
    ['git+ssh://example.org/greet', 2, 'never fetched from an address'],
    ['missing', 1, 'there is no /'],
    ['plain.zip', 1, 'neither a directory nor a .tar.gz'],
    ['broken.tar.gz', 1, 'damaged'],
  ] as const)
    expect(await cli.run('plugins', 'add', path, '--yes'), path).toMatchObject({ code, stderr: expect.stringContaining(text) });
});

test('A39 what a person cannot see in the words of a plugin is refused in names and spelt out in schemas', async () => {
  const tools = [toolNamed('hello', { description: 'Says hello.\u{e0041}\u{e0042}' })];
  const cli = await cliWith({ manifest: { tools } });
  const refused = await cli.run('plugins', 'add', 'greet', '--yes');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('characters that people cannot see') });

  const shown = await cliWith({ manifest: { description: 'Greets\u200bpeople', tools: [toolNamed('hello')] } });
  expect((await shown.run('plugins', 'add', 'greet', '--yes')).stdout).toContain('Greets\\u200bpeople');
});

test('what an archive unpacked is gone when the plugin in it is refused', async () => {
  const cli = await cliWith();
  await writeFile(join(cli.dir, 'evil.tar.gz'), tarGz([{ path: 'greet/plugin.json', body: '{}' }]));
  expect(await cli.run('plugins', 'add', 'evil.tar.gz', '--yes')).toMatchObject({ code: 1 });
  for (const place of ['plugins', 'plugin-copies']) expect(await names(join(cli.dataDir, place))).toEqual([]);
});
