import { ERROR_CODES, type ErrorCode } from '../../core/error-codes.ts';
import { GatehouseError } from '../../core/errors.ts';
import type { Model, ModelAnswer, ModelEvent, ModelFailure, ModelRequest, Usage } from '../../core/model.ts';

/** The answer of one call. Rejects with a `GatehouseError` of the failure's code, or with `signal.reason`. */
export async function askModel(model: Model, request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer> {
  for await (const event of callModel(model, request, signal)) if (event.type === 'done') return event.answer;
  throw withoutEnd(model);
}

export type AnswerEvent = Exclude<ModelEvent, { type: 'failed' }>;

/** The events of one call, with its failure thrown. */
export async function* callModel(model: Model, request: ModelRequest, signal: AbortSignal): AsyncGenerator<AnswerEvent> {
  signal.throwIfAborted();
  for await (const event of model.call(request, signal)) {
    if (event.type === 'failed') throw toThrown(event.failure, signal);
    yield event;
    if (event.type === 'done') return;
  }
  signal.throwIfAborted();
  throw withoutEnd(model);
}

function toThrown(failure: ModelFailure, signal: AbortSignal): unknown {
  if (failure.kind === 'aborted' && signal.aborted) return signal.reason;
  const { code, message, hint } = failure;
  return new GatehouseError(isErrorCode(code) ? code : 'GH2103', message, { hint });
}

function isErrorCode(code: string): code is ErrorCode {
  return code in ERROR_CODES;
}

function withoutEnd(model: Model): GatehouseError {
  return new GatehouseError('GH2109', `${model.id} ended without an answer`);
}

/** What both calls together used. A cost is known only when both are. */
export function addUsage(a: Usage, b: Usage): Usage {
  const known = a.costUsd === undefined && b.costUsd === undefined ? undefined : sumOrNull(a.costUsd, b.costUsd);
  return {
    tokensIn: a.tokensIn + b.tokensIn,
    tokensOut: a.tokensOut + b.tokensOut,
    tokensCached: a.tokensCached + b.tokensCached,
    ...(known === undefined ? {} : { costUsd: known }),
  };
}

function sumOrNull(a: number | null | undefined, b: number | null | undefined): number | null {
  return typeof a === 'number' && typeof b === 'number' ? a + b : null;
}
