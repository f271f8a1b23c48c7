import { expect, test } from 'vitest';
import type { RunSpawner } from '../../core/process.ts';
import { toolNamed } from '../../testing/plugin.ts';
import { pluginTool, type UsablePlugin } from './call.ts';
import { parseManifest } from './manifest.ts';

test('a model is told of the arguments of a plugin in a form that providers take, the same one in each run', () => {
  const at = { type: 'array', items: [{ type: 'number' }, { type: 'string' }] };
  const tools = [toolNamed('cut', { input_schema: { type: 'object', properties: { at }, anyOf: [{ required: ['at'] }] } })];
  const manifest = parseManifest(Buffer.from(JSON.stringify({ name: 'files', version: '1', description: 'Cuts.', tools })));
  const approval = { digest: 'd', network: false, effects: false, off: false, servers: new Set(''), hooks: new Set<number>() };
  const plugin: UsablePlugin = { name: 'files', code: { manifest, digest: 'd', files: 1, bytes: 1 }, approval, home: '/program' };
  const spawner: RunSpawner = {
    ...{ bounds: { mode: 'bwrap', network: false, readable: [] }, isContained: true, programs: new Set() },
    run: () => Promise.reject(new Error('nothing is run')),
  };
  const toldOf = () => {
    const [tool] = manifest.tools;
    if (!tool) throw new Error('no tool');
    const deps = { spawner, secret: () => '', redact: String, onProgress: () => undefined };
    return pluginTool(plugin, tool, { ...deps, problem: async () => undefined }).parameters;
  };
  expect(toldOf()).toEqual({
    type: 'object',
    properties: { at: { type: 'array', items: { anyOf: [{ type: 'number' }, { type: 'string' }] } } },
    required: ['at'],
  });
  expect(toldOf()).toBe(toldOf());
});
