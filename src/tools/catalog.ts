/** The gateway's own tools and those of every source, by one name each. */
import type { RunScope, Tool } from '../core/tool.ts';
import type { ToolSource } from '../core/tool-source.ts';

/** A tool that no run is offered, because its name is taken. */
export interface RefusedTool {
  readonly source: string;
  readonly tool: string;
  readonly reason: string;
}

/**
 * The tools of one run. Its own come first and keep their names; of two sources with one name the first has
 * it. Names count as the same when they differ in upper and lower case alone (A36).
 */
export function joinTools(
  own: readonly Tool[],
  sources: readonly ToolSource[],
  scope: RunScope,
): { readonly tools: readonly Tool[]; readonly refused: readonly RefusedTool[] } {
  const holders = new Map(own.map(({ name }) => [name.toLowerCase(), 'the gateway itself']));
  const tools = [...own];
  const refused: RefusedTool[] = [];
  for (const source of sources) {
    for (const tool of source.tools(scope)) {
      const name = tool.name.toLowerCase();
      const holder = holders.get(name);
      if (holder !== undefined) {
        refused.push({ source: source.name, tool: tool.name, reason: `${holder} has a tool of that name` });
        continue;
      }
      holders.set(name, source.name);
      tools.push(tool);
    }
  }
  return { tools, refused };
}
