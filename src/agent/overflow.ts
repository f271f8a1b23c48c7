import type { ModelRequest } from '../core/model.ts';
import type { AgentRun } from '../core/turn.ts';
import { estimateRequestTokens, outputBeside } from '../llm/tokens.ts';
import type { ModelOutcome } from './model-call.ts';

/**
 * No smaller window is kept, whatever a server says: the agent would be left without its tools and its
 * conversation. Tokens.
 */
const LEAST_KEPT = 4_096;

/**
 * Uses the output limit of the run, or less where a window that is smaller than the model's own has no room
 * for it. Wires see to the model's own window.
 */
function withLimit(request: ModelRequest, { model, limits }: Pick<AgentRun, 'model' | 'limits'>, window: number): ModelRequest {
  const room = window < model.contextWindow ? outputBeside(estimateRequestTokens(request), window) : Infinity;
  const most = Math.min(room, limits.maxOutputTokens ?? Infinity);
  return most === Infinity ? request : { ...request, maxOutputTokens: most };
}

/**
 * Makes a call for the window that the model has, as far as it is known, or less where the run may take no
 * more. A prompt that the model finds too
 * long is made shorter and sent once more: to fit the window that the refusal names, or half of what was
 * assumed. The window is kept in `run.windows`, for the model that refused.
 */
export async function callWithinWindow(
  run: Pick<AgentRun, 'model' | 'windows' | 'limits'>,
  requestFor: (window: number) => ModelRequest,
  send: (request: ModelRequest) => Promise<ModelOutcome>,
): Promise<ModelOutcome> {
  const { model, windows, limits } = run;
  const call = (window: number): Promise<ModelOutcome> => send(withLimit(requestFor(window), run, window));
  const assumed = Math.min(model.contextWindow, limits.contextWindow ?? Infinity, windows?.get(model.id) ?? Infinity);
  const refused = await call(assumed);
  if (refused.kind !== 'failed' || refused.failure.kind !== 'context-length') return refused;
  const { contextWindow: named, model: id = model.id } = refused.failure;
  if (named !== undefined && named < assumed) {
    windows?.set(id, Math.max(named, LEAST_KEPT));
    return await call(named);
  }
  const half = Math.floor(assumed / 2);
  const outcome = await call(half);
  // A window that is named and no smaller says that this history was estimated too short, which holds for no
  // other.
  if (named === undefined && outcome.kind === 'answer') windows?.set(id, Math.max(half, LEAST_KEPT));
  return outcome;
}
