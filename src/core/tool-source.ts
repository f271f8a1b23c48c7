import type { RunScope, Tool } from './tool.ts';

/** A part of the program that has tools which come and go: an MCP server, a plugin (runs.md M8). */
export interface ToolSource extends AsyncDisposable {
  /** `mcp:files`, `plugin:greet`. */
  readonly name: string;
  /** The tools for a new run of this scope, which keeps the list that it began with. */
  tools(scope: RunScope): readonly Tool[];
}
