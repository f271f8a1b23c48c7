import { z } from 'zod';
import type { Json } from '../core/message.ts';
import type { ToolDefaults, ToolSettings } from '../core/tool-settings.ts';
import { defineBoundTool, ToolFailure } from './define.ts';
import { findSettable, SETTABLES, type Settable } from './tool-settings.ts';

const schema = z.strictObject({
  action: z.enum(['list', 'get', 'set', 'reset']),
  tool: z.string().max(100).optional(),
  key: z.string().max(100).optional().describe('For reset: absent = all of the tool'),
  value: z
    .union([z.string().max(1_000), z.number(), z.boolean()])
    .optional()
    .describe('For set'),
});

type Args = z.output<typeof schema>;

/**
 * Sets what a tool takes where a call leaves an argument out. It is no limit, and widens nothing: any call
 * may name each of the values. Later runs of all people act on it, so it is the owner's alone.
 */
export const configureTool = defineBoundTool({
  name: 'configure_tool',
  description: 'Show and change the defaults of tools, such as how many results web_search asks for. They hold for all chats.',
  schema,
  tags: ['admin'],
  effect: 'outside',
  idempotent: true,
  act: (args) => (isLook(args) ? 'none' : 'setting'),
  ownerOnly: true,
  bind: ({ toolSettings }) => toolSettings,
  run: async (args, _call, settings) => await configureTools(args, settings),
});

/** Of arguments that may be anything. */
function isLook(args: unknown): boolean {
  return typeof args === 'object' && args !== null && 'action' in args && (args.action === 'list' || args.action === 'get');
}

/** Throws `ToolFailure` for what the asker can mend. */
export async function configureTools(args: Args, settings: ToolSettings): Promise<string> {
  switch (args.action) {
    case 'list': {
      const note = settings.problem === undefined ? [] : [`[nothing can be set: ${settings.problem}]`];
      return [...SETTABLES.map((one) => lineOf(one, settings.current)), ...note].join('\n');
    }
    case 'get':
      return lineOf(settableOf(args), settings.current);
    case 'set':
      return await set(args, settings);
    case 'reset':
      return await reset(args, settings);
  }
}

async function set(args: Args, settings: ToolSettings): Promise<string> {
  const settable = settableOf(args);
  const { tool, key } = settable;
  const parsed = settable.schema.safeParse(args.value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ToolFailure(`${tool}.${key} cannot be that: ${issue?.message ?? 'it is not valid'}`);
  }
  await change(settings, (current) => ({ ...current, [tool]: { ...current[tool], [key]: parsed.data } }));
  return `Set: ${lineOf(settable, settings.current)}`;
}

async function reset(args: Args, settings: ToolSettings): Promise<string> {
  const { tool = '', key } = args;
  const about = key === undefined ? SETTABLES.filter((one) => one.tool === tool) : [settableOf(args)];
  if (about.length === 0) throw unknown();
  await change(settings, (current) => {
    const { [tool]: own = {}, ...others } = current;
    const kept = Object.entries(own).filter(([name]) => about.every((one) => one.key !== name));
    return kept.length === 0 ? others : { ...others, [tool]: Object.fromEntries(kept) };
  });
  return about.map((one) => `Reset: ${lineOf(one, settings.current)}`).join('\n');
}

async function change(settings: ToolSettings, edit: (current: ToolDefaults) => ToolDefaults): Promise<void> {
  if (settings.problem !== undefined)
    throw new ToolFailure(`${settings.problem}. The operator has to mend or remove that file first; nothing was changed`);
  await settings.change(edit);
}

function settableOf({ tool = '', key = '' }: Args): Settable {
  const found = findSettable(tool, key);
  if (!found) throw unknown();
  return found;
}

function unknown(): ToolFailure {
  return new ToolFailure(`there is no such setting. There are: ${SETTABLES.map(({ tool, key }) => `${tool}.${key}`).join(', ')}`);
}

function lineOf({ tool, key, builtIn }: Settable, current: ToolDefaults): string {
  const own: Json | undefined = current[tool]?.[key];
  const value = own === undefined ? `${shown(builtIn)} (as built in)` : `${shown(own)} (built in: ${shown(builtIn)})`;
  return `${tool}.${key} = ${value}`;
}

function shown(value: Json): string {
  return JSON.stringify(value);
}
