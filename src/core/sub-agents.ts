/** What a tool needs to begin sub-agents. */
import type { NewRun } from './new-run.ts';

/** What a sub-agent is to do, and with what. */
export interface SubAgentRequest {
  readonly task: string;
  /** All that it knows beside the task. */
  readonly context?: string;
  /** How it is to work, as whom. It stands before the task and gives no right. */
  readonly instructions?: string;
  /** What people are told that it is called. */
  readonly label: string;
  /** Entries as of a policy; empty = all that the run which asks has. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly maxIterations?: number;
  readonly maxTokens?: number;
  /** Of its model, in tokens, where that has a larger one. */
  readonly contextWindow?: number;
  /** As people and models name it. Absent = the one that answers the run which asks. */
  readonly model?: string;
  /** No run waits for it: its conversation is told at its end. */
  readonly isBackground?: true;
}

/** Of the call that asks, as `ToolContext` has it. */
export interface SubAgentCall {
  readonly callId: string;
  readonly idempotencyKey: string;
  readonly taint?: number;
  readonly mayUse?: () => readonly string[];
}

export type PlannedSubAgent =
  | { readonly kind: 'run'; readonly run: NewRun }
  /** In words for the model. */
  | { readonly kind: 'refused'; readonly reason: string };

/** The sub-agents of one run. */
export interface SubAgents {
  /**
   * The run to wait for, or to begin. It counts from now on, so that calls side by side do not go beyond a
   * limit together. `by`: the tool, which decides about sessions with MCP servers.
   */
  plan(request: SubAgentRequest, call: SubAgentCall, by: 'spawn' | 'dispatch_subagent'): Promise<PlannedSubAgent>;
  /**
   * Begins one that no run waits for; on disk when it resolves. The same run again changes nothing. `false` =
   * the run that asks has ended, and nothing was begun.
   */
  begin(run: NewRun): Promise<boolean>;
}

export interface Children {
  /**
   * `run`: the key of the run that asks; `session`: its session; `except`: keys that are left out of the sums
   * of the tree, because the caller counts them itself.
   */
  counts(run: string, session: string, except: readonly string[]): Promise<ChildCounts>;
  /** What became of the tokens of a run. */
  tokens(run: { readonly seq: number; readonly key: string }): Promise<TokenUse>;
}

/** In tokens, in and out, as the ledger has them. */
export interface TokenUse {
  /** By the model calls of the run itself. */
  readonly own: number;
  /** By all that it began and what that led to, also where the rows of that are gone. */
  readonly below: number;
  /** The sub-agents that it began. */
  readonly children: readonly ChildTokens[];
}

export interface ChildTokens {
  readonly key: string;
  /** Its budget; 0 = it has none. */
  readonly given: number;
  readonly used: number;
  readonly isOver: boolean;
}

/** Numbers that the limits of sub-agents are about. */
export interface ChildCounts {
  /** Sub-agents of this session that are not over. */
  readonly open: number;
  /** All that the tree of a run has begun, over or not. */
  readonly ofTree: number;
  /** What these may use together, in tokens. */
  readonly tokensOfTree: number;
}
