import type { RunScope, Tool } from './tool.ts';

/** A part of the program that has tools which come and go: an MCP server, a plugin, a skill (runs.md M8). */
export interface ToolSource extends AsyncDisposable {
  /** `mcp:files`, `plugin:greet`, `skill:pdf`. */
  readonly name: string;
  /** What there is now for a run of this scope, which keeps what it began with. */
  tools(scope: RunScope): readonly Tool[];
  /** Called after each change of `tools()`. */
  onChange(listener: () => void): Disposable;
}
