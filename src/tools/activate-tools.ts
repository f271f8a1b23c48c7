import { z } from 'zod';
import type { Tool } from '../core/tool.ts';
import { defineTool, ToolFailure } from './define.ts';

/** So many tools of each group the description names, fewer where it is too long; the answer names all. */
const NAMES_SHOWN = [3, 2, 1, 0];
/** Longest list of groups, in UTF-16 units: each model call pays for it, and servers may be many. */
const LIST_CHARS = 420;

const schema = z.strictObject({ tools: z.array(z.string()).max(50).optional(), group: z.string().optional() });

/** A tool that is offered, by the group it is described with. */
export type Grouped = ReadonlyMap<string, readonly Pick<Tool, 'name'>[]>;

/**
 * What the model calls to have more tools described. It changes nothing itself: `ToolShelf` reads its
 * arguments, also those of recorded calls. `groups`: those that are not described now.
 */
export function activateTools(groups: Grouped): Tool {
  return defineTool({
    name: 'activate_tools',
    description: `More tools, described once you name their group or one of them:\n${listOf([...groups])}`,
    schema,
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

const MORE = ' more groups, named when you call this without arguments';

type Group = readonly [name: string, tools: readonly Pick<Tool, 'name'>[]];

function listOf(groups: readonly Group[]): string {
  const lists = NAMES_SHOWN.map((shown) => groups.map((group) => line(group, shown)).join('\n'));
  return lists.find((list) => list.length <= LIST_CHARS) ?? shortened(groups);
}

function shortened(groups: readonly Group[]): string {
  const lines: string[] = [];
  let left = LIST_CHARS - MORE.length - `${groups.length}`.length;
  for (const group of groups) {
    const text = line(group, 0);
    left -= text.length + 1;
    if (left < 0) break;
    lines.push(text);
  }
  return [...lines, `${groups.length - lines.length}${MORE}`].join('\n');
}

function line([group, tools]: Group, shown: number): string {
  if (shown === 0) return `${group}: ${tools.length}`;
  const prefix = `${group}__`;
  const names = tools.map(({ name }) => (name.startsWith(prefix) ? name.slice(prefix.length) : name));
  const more = names.length > shown ? `, ${names.length - shown} more` : '';
  return `${group}: ${names.slice(0, shown).join(', ')}${more}`;
}
