import { z } from 'zod';
import type { Tool } from '../core/tool.ts';
import { defineTool, ToolFailure } from './define.ts';

/**
 * Of a group with more tools the description names two, which say what it is about: each call pays for it. The
 * answer names all.
 */
const NAMES_SHOWN = 3;

/** A tool that is offered, by the group it is described with. */
export type Grouped = ReadonlyMap<string, readonly Pick<Tool, 'name'>[]>;

/**
 * What the model calls to have more tools described. It changes nothing itself: `ToolShelf` reads its
 * arguments, also those of recorded calls. `groups`: those that are not described now.
 */
export function activateTools(groups: Grouped): Tool {
  return defineTool({
    name: 'activate_tools',
    description: `More tools, described once you name their group or one of them:\n${[...groups].map(line).join('\n')}`,
    schema: z.strictObject({
      tools: z.array(z.string()).max(50).optional(),
      group: z.string().optional(),
    }),
    tags: ['admin'],
    effect: 'none',
    async run({ tools = [], group }) {
      const wanted = [...tools, ...(group === undefined ? [] : [group])];
      const found = wantedGroups(wanted, groups);
      if (found.length === 0) throw new ToolFailure(`no such tool or group. There are: ${[...groups.keys()].join(', ')}`);
      const names = found.map((name) => `${name}: ${(groups.get(name) ?? []).map((tool) => tool.name).join(', ')}`);
      return `Described from now on:\n${names.join('\n')}`;
    },
  });
}

/** The groups that are meant by their own names, or by names of their tools. */
export function wantedGroups(wanted: readonly string[], groups: Grouped): readonly string[] {
  const isMeant = ([group, tools]: readonly [string, readonly Pick<Tool, 'name'>[]]): boolean =>
    wanted.includes(group) || tools.some(({ name }) => wanted.includes(name));
  return [...groups].filter(isMeant).map(([group]) => group);
}

function line([group, tools]: readonly [string, readonly Pick<Tool, 'name'>[]]): string {
  const prefix = `${group}__`;
  const names = tools.map(({ name }) => (name.startsWith(prefix) ? name.slice(prefix.length) : name));
  const shown = names.length > NAMES_SHOWN ? [...names.slice(0, 2), `${names.length - 2} more`] : names;
  return `${group}: ${shown.join(', ')}`;
}
