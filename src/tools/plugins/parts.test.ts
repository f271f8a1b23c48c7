import { appendFile, chmod, cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Pin } from '../../core/pin.ts';
import { systemClock } from '../../lib/clock.ts';
import { MemoryLogger, tempDir } from '../../testing/fakes.ts';
import { makePlugin } from '../../testing/plugin.ts';
import { importOf, withoutDescriptors } from '../../testing/without-descriptors.ts';
import { pluginHooks, pluginServers } from './parts.ts';
import type { Approval } from './pin.ts';
import { Plugins } from './plugins.ts';
import { pluginState } from './state.ts';
import { copyDirectory, StagedPlugin } from './store.ts';
import { readTree } from './tree.ts';

test('what a hook of a plugin refuses stays refused when files of the plugin change, and its servers end', async () => {
  await using dir = await tempDir();
  const manifest = {
    mcp_servers: { files: { command: './server' }, other: { command: './server' } },
    hooks: [
      { event: 'message_in', command: ['./hook', 'a'], on_error: 'deny' },
      { event: 'message_out', command: ['./hook'] },
    ],
  };
  const files = { hook: '#!/bin/sh\n', server: '#!/bin/sh\n' };
  const source = await makePlugin(join(dir.path, 'plugins'), { name: 'greet', script: '#!/bin/sh\n', manifest, files });
  await using staged = await StagedPlugin.of(dir.path, source);
  const { digest } = staged.code;
  await staged.keep();
  const approval: Approval = {
    ...{ digest, network: false, effects: false, off: false },
    ...{ servers: new Set(['files']), hooks: new Set([0]) },
  };
  const now = async (changed: Partial<Approval> = {}) => {
    const state = await pluginState(dir.path, 'greet', { ...approval, ...changed });
    const hooks = pluginHooks([state]).map(({ key, hook }) => [key, ...hook.command.slice(1)]);
    return { standing: state.standing, hooks, servers: Object.keys(pluginServers([state])) };
  };
  const hooks = [['plugins.greet.hooks[0]', 'a']];
  expect(await now()).toEqual({ standing: 'enabled', hooks, servers: ['greet_files'] });
  expect(await now({ off: true })).toEqual({ standing: 'disabled', hooks: [], servers: [] });

  await chmod(join(source, 'hook'), 0o755);
  await appendFile(join(source, 'hook'), 'exit 0\n');
  expect(await now()).toEqual({ standing: 'changed', hooks, servers: [] });
  await rm(source, { recursive: true });
  expect(await now()).toEqual({ standing: 'broken', hooks, servers: [] });

  const copy = join(dir.path, 'plugin-copies', `greet-${digest}`, 'hook');
  await chmod(copy, 0o700);
  await appendFile(copy, 'exit 0\n');
  expect(await now()).toEqual({ standing: 'broken', hooks: [], servers: [] });
});

/** A plugin whose hook refuses, with all of it approved. */
async function refusing() {
  const dir = await tempDir();
  const hooks = [{ event: 'message_in', command: ['./hook'], on_error: 'deny' }];
  const files = { hook: '#!/bin/sh\nexit 1\n' };
  const made = { name: 'greet', script: '#!/bin/sh\n', manifest: { hooks }, files };
  await using staged = await StagedPlugin.of(dir.path, await makePlugin(join(dir.path, 'plugins'), made));
  await staged.keep();
  const { digest } = staged.code;
  const pins = ['greet', 'greet/hook/0'].map((name): Pin => ({ kind: 'plugin', name, digest, by: 'cli', at: 0 }));
  const copy = join(copyDirectory(dir.path, { name: 'greet', digest }), 'hook');
  return { path: dir.path, pins, copy, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

async function looked({ path, pins }: { readonly path: string; readonly pins: readonly Pin[] }) {
  const logger = new MemoryLogger();
  const text = { secret: () => '', redact: (words: string) => words };
  const plugins = new Plugins({ dataDir: path, pins: { of: async () => pins }, ...text, clock: systemClock, logger });
  await plugins.look();
  return { plugins, logger };
}

test('an approved hook is asked also where plugins/ cannot be read at the start, which is told', async () => {
  await using at = await refusing();
  await rm(join(at.path, 'plugins'), { recursive: true });
  await writeFile(join(at.path, 'plugins'), '');
  const { plugins, logger } = await looked(at);
  expect(plugins.hooks().map(({ hook }) => hook.command)).toEqual([[at.copy]]);
  expect(plugins.status()).toMatchObject([{ plugin: 'greet', state: 'broken' }]);
  expect(logger.lines.map(({ event }) => event)).toContain('plugins.look-failed');
});

test('a hook whose copy was touched is not run, and refuses where its manifest says so', async () => {
  await using at = await refusing();
  await chmod(at.copy, 0o700);
  await appendFile(at.copy, 'exit 0\n');
  const { plugins } = await looked(at);
  expect(plugins.hooks()).toMatchObject([{ hook: { event: 'message_in', on_error: 'deny' } }]);
  expect(plugins.hooks()[0]?.hook.command).toEqual(['/dev/null/the-copy-is-damaged']);
});

test.each([
  ['a hook for no tool', { hooks: [{ event: 'before_tool_call', command: ['./hook'], tool_filter: ['mcp__files'] }] }],
  ['a server with a long name', { mcp_servers: { ['a'.repeat(32)]: { command: './hook' } } }],
  ['an entry for no tool of a server', { mcp_servers: { files: { command: './hook', tools: { deny: ['mcp__files__rm'] } } } }],
  ['a key that is not known', { colour: 'red' }],
])('an approved hook is asked on where a manifest with %s is refused now, and no other part is used', async (_what, more) => {
  await using dir = await tempDir();
  const own = { event: 'message_in', command: ['./hook'], on_error: 'deny' };
  const manifest = { ...more, hooks: [own, ...('hooks' in more ? more.hooks : [])] };
  const made = { name: 'greet-and-much-more', script: '#!/bin/sh\n', manifest, files: { hook: '#!/bin/sh\nexit 1\n' } };
  const source = await makePlugin(join(dir.path, 'plugins'), made);
  const { digest } = await readTree(source);
  const copy = copyDirectory(dir.path, { name: made.name, digest });
  await cp(source, copy, { recursive: true });
  const servers = Object.keys('mcp_servers' in more ? more.mcp_servers : {}).map((server) => `server/${server}`);
  const pins = ['', '/hook/0', ...servers.map((server) => `/${server}`)].map(
    (part): Pin => ({ kind: 'plugin', name: `${made.name}${part}`, digest, by: 'cli', at: 0 }),
  );
  const { plugins } = await looked({ path: dir.path, pins });
  expect(plugins.hooks()).toMatchObject([{ hook: { event: 'message_in', command: [join(copy, 'hook')], on_error: 'deny' } }]);
  expect(plugins.status()).toMatchObject([{ state: 'broken', offered: [] }]);
  expect([plugins.servers(), plugins.sources()]).toEqual([{}, []]);
});

test.runIf(process.platform === 'linux')('a look for which no descriptors are left takes no hook away', async () => {
  await using at = await refusing();
  const before = `
    ${importOf('Plugins', './plugins.ts', import.meta.url)}
    ${importOf('systemClock', '../../lib/clock.ts', import.meta.url)}
    const logger = { info() {}, warn() {}, error() {}, debug() {} };
    const pins = { of: async () => ${JSON.stringify(at.pins)} };
    const dataDir = ${JSON.stringify(at.path)};
    const plugins = new Plugins({ dataDir, pins, secret() {}, redact: (text) => text, clock: systemClock, logger });
    await plugins.look();`;
  const script = `
    const found = [];
    for (let left = 0; left < 12; left += 1) {
      await plugins.look();
      found.push(plugins.hooks().length);
      closeSync(held.pop());
    }
    free();
    console.log(found.join(''));`;
  expect(withoutDescriptors(before, script)).toBe('1'.repeat(12));
});
