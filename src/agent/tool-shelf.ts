import type { ToolCall } from '../core/session.ts';
import type { Tool } from '../core/tool.ts';
import { groupNameOf } from '../core/tool-groups.ts';
import { activateTools, type Grouped, wantedGroups } from '../tools/activate-tools.ts';

/** Up to so many tools are all described to the model (spec G2). */
const MOST_DESCRIBED = 15;
/** A group that no call used for so many model calls is no longer described, while there are too many. */
const UNUSED_AFTER = 5;
/** Described at any time: with the prompt they cost at most 1,000 tokens. */
const ALWAYS = new Set(['read_file', 'write_file', 'edit_file', 'list_dir', 'grep', 'shell', 'web_fetch']);

/**
 * Which of the tools that a run is offered are described to the model: each description is paid for with
 * every call. A tool that is not described can be called all the same. A function of the calls so far, so
 * that a resumed run describes the same.
 */
export class ToolShelf {
  readonly #tools: readonly Tool[];
  readonly #groups: Grouped;
  /** Of a group the number of the model call that used it last. */
  readonly #usedAt = new Map<string, number>();

  constructor(tools: readonly Tool[]) {
    const others = tools.length > MOST_DESCRIBED ? tools.filter(({ name }) => !ALWAYS.has(name)) : [];
    this.#groups = Map.groupBy(others, ({ name }) => groupNameOf(name));
    this.#tools = tools;
  }

  /** What may be called beside the tools: nothing, or `activate_tools`. */
  get own(): readonly Tool[] {
    return this.#groups.size === 0 ? [] : [activateTools(this.#groups)];
  }

  /** For the model call of that number, counted from 1. In the order of the tools: providers cache them. */
  described(call: number): readonly Tool[] {
    if (this.#groups.size === 0) return this.#tools;
    const isActive = (group: string): boolean => call - (this.#usedAt.get(group) ?? Number.NEGATIVE_INFINITY) <= UNUSED_AFTER;
    const left = new Map([...this.#groups].filter(([group]) => !isActive(group)));
    const hidden = new Set([...left.values()].flat());
    const shown = this.#tools.filter((tool) => !hidden.has(tool));
    return left.size === 0 ? shown : [...shown, activateTools(left)];
  }

  /** What model call number `call` used: the groups of these tools, and those asked for, are described. */
  used(calls: readonly ToolCall[], call: number): void {
    const names = calls.flatMap(({ name, arguments: args }) => (name === 'activate_tools' ? namesIn(args) : [name]));
    for (const group of wantedGroups(names, this.#groups)) this.#usedAt.set(group, call);
  }
}

/** Of arguments that nothing has checked. */
function namesIn(args: string): readonly string[] {
  try {
    const { tools, group } = JSON.parse(args) as { tools?: unknown; group?: unknown };
    return [...(Array.isArray(tools) ? tools : []), group].filter((name) => typeof name === 'string');
  } catch {
    return []; // the call itself is answered with what is wrong
  }
}
