// tool_config.json of the data directory -> checked by the schemas of the tools -> defaults of arguments
import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';
import type { Json } from '../core/message.ts';
import type { Logger } from '../core/ports.ts';
import type { Tool } from '../core/tool.ts';
import type { ToolDefaults, ToolSettings } from '../core/tool-settings.ts';
import { writeFileAtomic } from '../lib/atomic-file.ts';
import { isErrno } from '../lib/errno.ts';
import { KeyedMutex } from '../lib/keyed-mutex.ts';
import { deepSearchDefaults } from './deep-search.ts';
import { webFetchDefaults } from './web-fetch.ts';
import { webSearchDefaults } from './web-search.ts';

/** Each one has a default of its own, and only says what a call takes that leaves it out: none is a limit. */
const SETTABLE: Readonly<Record<string, Readonly<Record<string, z.ZodDefault<z.ZodType>>>>> = {
  web_search: webSearchDefaults,
  web_fetch: webFetchDefaults,
  deep_search: deepSearchDefaults,
};
const MAX_FILE_BYTES = 64 * 1024;
const MODE = 0o600;

export interface Settable {
  readonly tool: string;
  readonly key: string;
  /** What holds where nothing is set. */
  readonly builtIn: Json;
  /** As the tool checks it. */
  readonly schema: z.ZodType<Json>;
}

export const SETTABLES: readonly Settable[] = Object.entries(SETTABLE).flatMap(([tool, keys]) =>
  Object.entries(keys).map(([key, schema]) => ({
    ...{ tool, key, builtIn: schema.parse(undefined) as Json },
    schema: schema.unwrap() as z.ZodType<Json>,
  })),
);

export function findSettable(tool: string, key: string): Settable | undefined {
  return SETTABLES.find((one) => one.tool === tool && one.key === key);
}

const fileSchema = z.strictObject(
  Object.fromEntries(
    Object.entries(SETTABLE).map(([tool, keys]) => {
      const values = Object.fromEntries(Object.entries(keys).map(([key, schema]) => [key, schema.unwrap().optional()]));
      return [tool, z.strictObject(values).optional()];
    }),
  ),
);

/**
 * Reads the file once. One that cannot be read as settings is left as it is: the defaults of the tools hold,
 * which are no wider, and the log says so.
 */
export function openToolSettings(file: string, logger: Pick<Logger, 'warn'>): ToolSettings {
  const read = readSettings(file);
  if ('problem' in read) {
    const hint = 'mend it, or remove it and start again; until then the defaults of the tools hold';
    logger.warn('tool-config.unread', { detail: read.problem, hint });
  }
  const changes = new KeyedMutex();
  let current = 'problem' in read ? {} : read.settings;
  return {
    get current() {
      return current;
    },
    ...('problem' in read ? { problem: read.problem } : {}),
    change: (edit) =>
      changes.runExclusive(file, async () => {
        const next = edit(current);
        await writeFileAtomic(file, `${JSON.stringify(next, null, 2)}\n`, { mode: MODE });
        current = next;
      }),
  };
}

type Read = { readonly settings: ToolDefaults } | { readonly problem: string };

function readSettings(file: string): Read {
  try {
    const about = statSync(file);
    if (!about.isFile()) return { problem: 'tool_config.json is no file' };
    if (about.size > MAX_FILE_BYTES) return { problem: 'tool_config.json is larger than 64 KiB' };
    const parsed = fileSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')));
    if (parsed.success) return { settings: parsed.data as ToolDefaults };
    const [{ path, message } = { path: [], message: '' }] = parsed.error.issues;
    return { problem: `tool_config.json: ${[...path, message].join(': ')}` };
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return { settings: {} };
    return { problem: error instanceof SyntaxError ? 'tool_config.json is not valid JSON' : 'tool_config.json cannot be read' };
  }
}

/**
 * The tool with these values in place of its own defaults: in what the model is told, and in calls that leave
 * them out.
 */
export function withDefaults(tool: Tool, defaults: Readonly<Record<string, Json>> | undefined): Tool {
  if (!defaults || Object.keys(defaults).length === 0) return tool;
  return {
    ...tool,
    parameters: told(tool.parameters, defaults),
    run: (args, context) => tool.run(isObject(args) ? { ...defaults, ...args } : args, context),
  };
}

function told(parameters: Tool['parameters'], defaults: Readonly<Record<string, Json>>): Tool['parameters'] {
  const properties = { ...(parameters['properties'] as Readonly<Record<string, object>>) };
  for (const [key, value] of Object.entries(defaults)) properties[key] = { ...properties[key], default: value };
  return { ...parameters, properties };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
