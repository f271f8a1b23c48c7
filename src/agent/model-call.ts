import { ERROR_CODES, type ErrorCode } from '../core/error-codes.ts';
import { errorText } from '../core/errors.ts';
import type { UsageEntry } from '../core/ledger.ts';
import type { FailureKind, Model, ModelAnswer, ModelCallContext, ModelFailure, ModelRequest, Usage } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';
import type { AgentRun } from '../core/turn.ts';
import { usageId } from '../core/usage-ids.ts';
import type { Wanted } from '../core/wait.ts';
import { settleOrLeave } from '../lib/settle-or-leave.ts';
import type { AgentEmit } from './agent-emit.ts';
import type { StoredAnswer } from './stored-steps.ts';

export type ModelOutcome =
  | { readonly kind: 'answer'; readonly answer: ModelAnswer }
  | { readonly kind: 'wait'; readonly wait: Extract<Wanted, { readonly kind: 'signal' }> }
  | { readonly kind: 'failed'; readonly failure: ModelFailure };

export interface ModelCall {
  readonly model: Model;
  readonly request: ModelRequest;
  readonly iteration: number;
  readonly emit: AgentEmit;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** As of `AgentRun`. */
  readonly ready: Promise<unknown> | undefined;
}

/** Session, channel, sender and purpose that a run's calls are booked under. */
export function callerOf({ session, channel, principal: sender, job }: AgentRun): Omit<ModelCallContext, 'queuedMs'> {
  const who = { session, channel, sender };
  return job === undefined ? { ...who, purpose: 'turn' } : { ...who, purpose: 'job', job };
}

/** What the ledger is told of the answer that is step `n` of the run. */
export function usageEntry(run: AgentRun, n: number, { answer, at }: Pick<StoredAnswer, 'answer' | 'at'>): UsageEntry {
  const { provider, model, usage } = answer;
  return { id: usageId(run.runId, n), at, provider, model, costUsd: null, ...usage, ...callerOf(run) };
}

/**
 * One call with its events reported. A model that throws or stops without an end is a failed call. Rejects as
 * `ready` does.
 */
export async function callModel(call: ModelCall): Promise<ModelOutcome> {
  const { model, clock, emit, signal, ready } = call;
  await ready;
  const startedAt = clock.monotonic();
  emit({ type: 'model.started', model: model.id, iteration: call.iteration });
  const settled = await settleOrLeave(consume(call), signal, clock);
  const outcome = settled === 'left' ? failed('aborted', 'GH2105', 'the model did not stop when asked to') : settled.value;
  const ms = clock.monotonic() - startedAt;
  if (outcome.kind === 'answer') {
    const { tokensIn, tokensOut, costUsd = null } = outcome.answer.usage;
    const id = `${outcome.answer.provider}/${outcome.answer.model}`;
    emit({ type: 'model.done', model: id, tokensIn, tokensOut, costUsd, ms });
  } else if (outcome.kind === 'failed') {
    const { code, kind, message, hint } = outcome.failure;
    emit({ type: 'model.failed', model: model.id, code, kind, detail: message, hint, ms });
  }
  return outcome;
}

async function consume({ model, request, emit, signal }: ModelCall): Promise<ModelOutcome> {
  try {
    for await (const event of model.call(request, signal)) {
      if (event.type === 'done') return { kind: 'answer', answer: event.answer };
      if (event.type === 'failed') return { kind: 'failed', failure: event.failure };
      if (event.type === 'wait') return { kind: 'wait', wait: event.wait };
      // After an abort no more text of this run may be shown, even while the model still ends its stream.
      if (signal.aborted) continue;
      if (event.type === 'text') emit({ type: 'model.text', text: event.text });
      if (event.type === 'waiting') emit({ type: 'model.waiting', reason: event.reason, waitMs: event.waitMs });
      if (event.type === 'restart') emit({ type: 'model.restart', reason: event.reason });
      if (event.type === 'switched') emit({ type: 'model.switched', from: event.from, to: event.to, reason: event.reason });
    }
  } catch (error) {
    return failed('malformed', 'GH2109', `the model threw: ${errorText(error)}`);
  }
  return failed('malformed', 'GH2109', 'the model ended its stream without an answer');
}

/** Neither text nor a tool call to run; reasoning alone is nothing a person can read (reliability.md F29). */
export function isEmpty(answer: ModelAnswer): boolean {
  return answer.text.trim() === '' && toolCallsOf(answer).length === 0;
}

/**
 * The calls to run. A broken-off or withheld answer may hold half a call, so none of it runs; `end` with
 * calls means `tools` (spec B7).
 */
export function toolCallsOf(answer: ModelAnswer): ModelAnswer['toolCalls'] {
  return answer.stop === 'end' || answer.stop === 'tools' ? answer.toolCalls : [];
}

/** Of the tokens alone: what they cost is the ledger's to say. */
export function sumUsage(one: Usage, other: Usage): Usage {
  return {
    tokensIn: one.tokensIn + other.tokensIn,
    tokensOut: one.tokensOut + other.tokensOut,
    tokensCached: one.tokensCached + other.tokensCached,
  };
}

/** What an answer that stayed empty after every retry is called. */
export function emptyFailure(answer: ModelAnswer): ModelFailure {
  if (answer.stop === 'length') return failed('malformed', 'GH2109', 'the output limit was reached before any text').failure;
  if (answer.stop === 'filtered') return failed('content-filter', 'GH2111', 'the provider withheld the whole answer').failure;
  return failed('empty', 'GH2108', 'the model returned neither text nor tool calls').failure;
}

function failed(kind: FailureKind, code: ErrorCode, message: string): Extract<ModelOutcome, { kind: 'failed' }> {
  return { kind: 'failed', failure: { kind, code, message, hint: ERROR_CODES[code].hint, retryable: false } };
}

/**
 * The table's words for the code, never the failure's message: that one is for the operator's log
 * (reliability.md A48).
 */
export function failureTitle({ code }: ModelFailure): string {
  const known = Object.entries(ERROR_CODES).find(([key]) => key === code);
  return known === undefined ? code : `${known[1].title}, ${code}`;
}
