/** Runs that no message began, as a caller sees them that is no channel. */
import type { NewRun } from './new-run.ts';
import type { RunState } from './run.ts';
import type { Effect, ToolResult } from './tool.ts';

/** What a caller did by itself, with its own words: it needs no agent, and is over at once. */
export interface OwnCall {
  readonly run: NewRun;
  readonly tool: string;
  readonly effect: Effect;
}

/** What became of a run that no message began, for the caller that began it. */
export interface PromptedRun {
  readonly seq: number;
  readonly state: RunState;
  /** What it was asked. */
  readonly text: string;
  /** What people are told that it is called. Absent = nothing. */
  readonly label?: string;
  /** As of `TurnResult`. Absent = it is not over. */
  readonly outcome?: string;
  /** Its answer. Absent = it is not over, or ended without its agent. */
  readonly result?: ToolResult;
}

export interface PromptedRuns {
  /** The newest run of this key, as long as the journal keeps its row. */
  of(key: string): Promise<PromptedRun | undefined>;
}
