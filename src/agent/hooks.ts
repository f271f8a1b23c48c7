// run, call, answer -> facts -> the hooks of the operator: what they are asked, and what they are told
import { ERROR_CODES, type ErrorCode } from '../core/error-codes.ts';
import type { HookAnswer, HookFacts, Hooks } from '../core/hooks.ts';
import type { Json } from '../core/message.ts';
import type { FailureKind, ModelAnswer, ModelFailure, Usage } from '../core/model.ts';
import type { ToolCall } from '../core/session.ts';
import type { ToolResult } from '../core/tool.ts';
import type { AgentRun } from '../core/turn.ts';
import { unlessAborted } from '../lib/unless-aborted.ts';
import type { ModelOutcome } from './model-call.ts';

/** Of a result that a hook is shown (spec G4). UTF-16 units. */
const RESULT_CHARS = 500;
const ALLOW: HookAnswer = { kind: 'allow' };

/** Asks about a call before the policy decides on it. Undefined = the signal ended it. */
export async function askBeforeCall(run: AgentRun, call: ToolCall, signal: AbortSignal): Promise<HookAnswer | undefined> {
  const { hooks } = run;
  if (!hooks?.has('before_tool_call')) return ALLOW;
  return await unlessAborted(hooks.ask({ ...factsOf(run), event: 'before_tool_call', ...callFacts(call) }, signal), signal);
}

export function tellAfterCall(run: AgentRun, call: ToolCall, { ok, output }: ToolResult, ms: number): void {
  if (!run.hooks?.has('after_tool_call')) return;
  const result = output.slice(0, RESULT_CHARS);
  run.hooks.tell({ ...factsOf(run), event: 'after_tool_call', ...callFacts(call), result, success: ok, duration_ms: ms });
}

/** Whose call it is: a run, or a tool that asks a model for it. */
export type HookedRun = Pick<AgentRun, 'hooks' | 'clock' | 'model' | 'runId' | 'session' | 'channel' | 'principal'>;

export interface HookedCall {
  readonly iteration: number;
  /** Of the history, with what was said and done since. */
  readonly messages: number;
  /** By the calls before it. */
  readonly spent: Usage;
}

/** A model call that hooks may refuse, and are told the answer of. Rejects as `call` does. */
export async function callWithHooks(
  run: HookedRun,
  about: HookedCall,
  signal: AbortSignal,
  call: () => Promise<ModelOutcome>,
): Promise<ModelOutcome> {
  const { hooks, clock } = run;
  if (!hooks) return await call();
  const refused = await askBeforeModel(run, hooks, about, signal);
  if (refused) return { kind: 'failed', failure: refused };
  const startedAt = clock.monotonic();
  const outcome = await call();
  if (outcome.kind === 'answer' && hooks.has('after_llm_call')) {
    hooks.tell({ ...factsOf(run), ...answerFacts(outcome.answer, about), latency_ms: clock.monotonic() - startedAt });
  }
  return outcome;
}

async function askBeforeModel(
  run: HookedRun,
  hooks: Hooks,
  { iteration, messages }: HookedCall,
  signal: AbortSignal,
): Promise<ModelFailure | undefined> {
  if (!hooks.has('before_llm_call')) return undefined;
  const facts = { event: 'before_llm_call', model: run.model.id, iteration, message_count: messages } as const;
  const answer = await unlessAborted(hooks.ask({ ...factsOf(run), ...facts }, signal), signal);
  if (answer === undefined) return failure('aborted', 'GH2105', 'stopped while a hook was asked');
  if (answer.kind !== 'deny') return undefined;
  return failure('forbidden', 'GH2121', `${answer.key} refused the model call: ${answer.reason}`);
}

function failure(kind: FailureKind, code: ErrorCode, message: string): ModelFailure {
  return { kind, code, message, hint: ERROR_CODES[code].hint, retryable: false };
}

function answerFacts({ stop, toolCalls, usage, provider, model }: ModelAnswer, { iteration, spent }: HookedCall): HookFacts {
  return {
    ...{ event: 'after_llm_call', provider_name: provider, model, iteration },
    ...{ stop_reason: stop, has_tool_calls: toolCalls.length > 0 },
    ...{ input_tokens: usage.tokensIn, output_tokens: usage.tokensOut },
    ...{ cumulative_input_tokens: spent.tokensIn + usage.tokensIn, cumulative_output_tokens: spent.tokensOut + usage.tokensOut },
    ...(usage.costUsd == null ? {} : { response_cost: usage.costUsd }),
  };
}

function factsOf({ runId, session, channel, principal }: HookedRun): Omit<HookFacts, 'event'> {
  return { run_id: runId, session_id: session, channel, principal };
}

/** Arguments that are no JSON stay text: the tool will refuse them. */
function callFacts(call: ToolCall): { readonly tool_name: string; readonly tool_id: string; readonly arguments: Json } {
  return { tool_name: call.name, tool_id: call.id, arguments: parsed(call.arguments) };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
