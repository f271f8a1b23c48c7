import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { CHANNELS } from '../channels/registry.ts';
import { findRow } from '../src/llm/catalog/catalog.ts';
import { type ChannelSettings, configJsonSchema, renderJsonSchema } from './json-schema.ts';
import { loadConfig } from './load.ts';

async function registered(): Promise<ChannelSettings[]> {
  const entries = Object.entries(CHANNELS).map(async ([type, load]) => ({ type, settings: (await load()).settings }));
  return await Promise.all(entries);
}

interface SchemaNode {
  readonly [key: string]: SchemaNode | undefined;
}

function descend(schema: unknown, ...path: string[]): SchemaNode {
  return path.reduce<SchemaNode>((node, step) => node[step] ?? {}, schema as SchemaNode);
}

test('config/schema.json is what the sources say (else run: node src/cli/write-generated.ts)', async () => {
  const file = await readFile(join(import.meta.dirname, 'schema.json'), 'utf8');
  expect(file).toBe(renderJsonSchema(configJsonSchema(await registered())));
});

test('a channel entry is a union told apart by its type, each with its own settings', () => {
  const schema = configJsonSchema([
    { type: 'cli', settings: z.strictObject({}) },
    { type: 'email', settings: z.strictObject({ host: z.string().describe('Mail server.') }) },
  ]);
  const variants = descend(schema, 'properties', 'gateway', 'properties', 'channels', 'items')['oneOf'];
  expect(variants).toMatchObject([
    { properties: { type: { const: 'cli' }, allowed_senders: {} }, required: ['type'], additionalProperties: false },
    {
      properties: {
        type: { const: 'email' },
        settings: { properties: { host: { description: 'Mail server.' } }, required: ['host'] },
      },
      required: ['type', 'settings'],
    },
  ]);
});

test('every key has a description', () => {
  const missing: string[] = [];
  const visit = (node: SchemaNode, path: string): void => {
    for (const [key, child] of Object.entries(node['properties'] ?? {})) {
      if (child === undefined) continue;
      if (typeof child['description'] !== 'string') missing.push(`${path}.${key}`);
      visit(child, `${path}.${key}`);
    }
    if (node['items']) visit(node['items'], `${path}[]`);
  };
  visit(configJsonSchema([]) as unknown as SchemaNode, '');
  expect(missing).toEqual([]);
});

const examples = (await readdir(join(import.meta.dirname, 'examples'))).filter((name) => name.endsWith('.json'));

test.each(examples)(
  'M3 every model that examples/%s names is in the catalog, and its provider has announced no end of it',
  async (name) => {
    const text = await readFile(join(import.meta.dirname, 'examples', name), 'utf8');
    const {
      fallback_models: fallbacks = [],
      models = {},
      ...main
    } = JSON.parse(text) as {
      provider?: string;
      model?: string;
      fallback_models?: { provider: string; model: string }[];
      models?: Record<string, { provider: string; model: string }>;
    };
    for (const { provider, model } of [main, ...fallbacks, ...Object.values(models)]) {
      // What a server of one's own offers is in no catalog.
      if (provider === undefined || model === undefined || provider === 'ollama') continue;
      expect([name, model, findRow(provider, model)]).toEqual([
        name,
        model,
        expect.objectContaining({ window: expect.any(Number) }),
      ]);
      expect([name, model, findRow(provider, model)?.ends]).toEqual([name, model, undefined]);
    }
  },
);

test.each(examples)('examples/%s loads without a warning', async (name) => {
  const dir = join(import.meta.dirname, 'examples');
  // A type that is not registered yet passes as it stands: its settings are checked once its channel exists.
  const { config, warnings } = await loadConfig({
    file: name,
    cwd: dir,
    home: dir,
    env: {},
    channelTypes: [...new Set(['cli', 'telegram', 'email', ...Object.keys(CHANNELS)])],
    channelSettings: async (type) => (await CHANNELS[type]?.())?.settings ?? z.looseObject({}),
  });
  expect(warnings).toEqual([]);
  expect(config.gateway.channels.length).toBeGreaterThan(0);
});

test('the example with everything names every key of the schema', async () => {
  const all = JSON.parse(await readFile(join(import.meta.dirname, 'examples', 'all.json'), 'utf8')) as Record<string, unknown>;
  const properties = (node: unknown) => Object.keys(descend(node, 'properties'));
  const schema = configJsonSchema([]);
  expect(new Set(Object.keys(all))).toEqual(new Set(properties(schema).filter((key) => key !== '$schema')));
  expect(new Set(Object.keys(all['gateway'] as object))).toEqual(new Set(properties(descend(schema, 'properties', 'gateway'))));
});
