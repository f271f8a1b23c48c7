import { appendFile, chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../../testing/fakes.ts';
import { makePlugin } from '../../testing/plugin.ts';
import { pluginHooks, pluginServers } from './parts.ts';
import type { Approval } from './pin.ts';
import { pluginState } from './state.ts';
import { StagedPlugin } from './store.ts';

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
