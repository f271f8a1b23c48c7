import { z } from 'zod';
import { configSchema } from './schema.ts';

type JsonSchema = { [key: string]: unknown };

export interface ChannelSettings {
  readonly type: string;
  readonly settings: z.ZodType;
}

/**
 * JSON Schema of the config file for editors; draft-07 is what they understand best. A channel entry is a
 * union told apart by `type`, so that each type's own settings are completed and checked.
 */
export function configJsonSchema(channels: readonly ChannelSettings[]): JsonSchema {
  const schema = z.toJSONSchema(configSchema, { io: 'input', target: 'draft-7' }) as JsonSchema;
  const list = objectAt(schema, ['properties', 'gateway', 'properties', 'channels']);
  const entry = objectAt(list, ['items']);
  if (channels.length > 0) list['items'] = { oneOf: channels.map((channel) => entryOf(entry, channel)) };
  return { ...schema, title: 'Gatehouse configuration' };
}

/** The generated file's exact text. */
export function renderJsonSchema(schema: JsonSchema): string {
  return `${JSON.stringify(schema, null, 2)}\n`;
}

function entryOf(entry: JsonSchema, { type, settings }: ChannelSettings): JsonSchema {
  const { $schema: _, ...body } = z.toJSONSchema(settings, {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
  }) as JsonSchema;
  const common = objectAt(entry, ['properties']);
  const description = objectAt(common, ['settings'])['description'];
  const needsSettings = Array.isArray(body['required']) && body['required'].length > 0;
  return {
    ...entry,
    properties: { ...common, type: { const: type, description: 'Which kind of channel.' }, settings: { description, ...body } },
    required: needsSettings ? ['type', 'settings'] : ['type'],
  };
}

function objectAt(root: JsonSchema, path: readonly string[]): JsonSchema {
  let node = root;
  for (const step of path) {
    const child = node[step];
    if (child === null || typeof child !== 'object') throw new Error(`the config schema has no ${path.join('.')}`);
    node = child as JsonSchema;
  }
  return node;
}
