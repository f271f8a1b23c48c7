/** Programs of the operator that are asked or told about what runs do (spec G4): the port that runs use. */
import type { Json } from './message.ts';

/** Those that begin with `before_`, and `message_in`, are asked and may refuse; the others are told. */
export const HOOK_EVENTS = [
  ...['before_tool_call', 'after_tool_call', 'before_llm_call', 'after_llm_call'],
  ...['message_in', 'message_out'],
] as const;

export type HookEvent =
  | 'before_tool_call'
  | 'after_tool_call'
  | 'before_llm_call'
  | 'after_llm_call'
  | 'message_in'
  | 'message_out';

/** What a hook reads as JSON; names as in spec G4, and what is undefined is left out. */
export interface HookFacts {
  readonly event: HookEvent;
  readonly tool_name?: string;
  readonly [name: string]: Json | undefined;
}

export type HookAnswer =
  | { readonly kind: 'allow' }
  /** In place of the arguments of the call; only of `before_tool_call`. JSON text of an object. */
  | { readonly kind: 'replace'; readonly args: string }
  /** `key`: of the hook in the config. */
  | { readonly kind: 'deny'; readonly reason: string; readonly key: string };

export interface Hooks {
  /** Whether there is one for the event: what it costs to make the facts is saved otherwise. */
  has(event: HookEvent): boolean;
  /** Asks the hooks of the event in their order, until one refuses or replaces. Rejects as `signal` says. */
  ask(facts: HookFacts, signal: AbortSignal): Promise<HookAnswer>;
  /** Tells the hooks of the event, without waiting for them. */
  tell(facts: HookFacts): void;
}
