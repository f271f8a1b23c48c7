/** The port that decides which tools a run is offered and which calls run (runs.md M4). */
import type { Authority } from './authority.ts';
import type { ToolFacts } from './tool.ts';

/** For whom and where a tool is judged. */
export interface PolicyRun {
  readonly authority: Authority;
  /** As `channelOf`. */
  readonly channel: string;
  /** `provider/model` of the model that is offered the tool, or has asked for the call. */
  readonly model: string;
}

export interface PolicyCall {
  readonly tool: ToolFacts;
  /** The final ones, parsed. */
  readonly args: unknown;
  /** Bits of all that the run has read (`authority.ts`). */
  readonly taint: number;
}

/** `key`: of the config, where one decided. */
export type Verdict =
  | { readonly kind: 'allow'; readonly reason: string; readonly key?: string }
  | { readonly kind: 'deny'; readonly reason: string; readonly key?: string }
  /** `by`: whose yes is enough. The owner may always say it. */
  | { readonly kind: 'ask'; readonly reason: string; readonly key?: string; readonly by: 'requester' | 'owner' };

/**
 * Verdicts depend on their arguments and on the config of that moment alone, so a run that goes on after a
 * crash decides the same. Neither method throws.
 */
export interface Policy {
  /** Those of the tools that a run is offered, in their order. Does not depend on what was read. */
  offered<Facts extends ToolFacts>(tools: readonly Facts[], run: PolicyRun): readonly Facts[];
  /** Whether this call runs. Denies whatever is not offered. */
  decide(call: PolicyCall, run: PolicyRun): Verdict;
}
