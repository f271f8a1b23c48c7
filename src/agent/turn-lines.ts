/**
 * The lines that a turn leaves in its session, by their place in it: the same on every attempt, so that none
 * is kept twice.
 */
import type { ModelAnswer } from '../core/model.ts';
import type { SessionMessage, ToolCall } from '../core/session.ts';
import type { StoredCall } from './stored-steps.ts';

/** The result of a call of which it is not known whether it took effect. */
export const UNKNOWN = 'Error: outcome unknown: this call was broken off and may have taken effect. Check before repeating it.';
/** The result of a call of a tool that has no effect, such as one that waits for a person. */
export const BROKEN_OFF = 'Error: broken off: the turn was stopped before this call had a result. It changed nothing.';
/** The result of a call that surely took no effect. */
export const NOT_RUN = 'Error: not run: the turn was stopped before this call began';

/** `#` keeps line ids apart from message ids, which never hold one unescaped. `at`: epoch ms. */
export function turnLine(
  runId: string,
  suffix: string,
  role: SessionMessage['role'],
  content: string,
  at: number,
): SessionMessage {
  return { id: `${runId}#${suffix}`, role, content, timestamp: new Date(at).toISOString() };
}

/**
 * An answer of the model with the calls of it that are kept. `iteration` counts the answers that were not
 * empty, from 1.
 */
export function answerLine(
  runId: string,
  iteration: number,
  { answer, at }: { readonly answer: ModelAnswer; readonly at: number },
  calls: readonly ToolCall[],
): SessionMessage {
  return {
    ...turnLine(runId, `a${iteration}`, 'assistant', answer.text, at),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(answer.reasoning === undefined ? {} : { reasoning_content: answer.reasoning }),
    // What is kept speaks of all calls of the answer: without them it would be refused.
    ...(answer.providerState && calls.length === answer.toolCalls.length ? { provider_state: answer.providerState } : {}),
  };
}

/** What came of the call at this place, from 0, of the answer. */
export function resultLine(
  runId: string,
  iteration: number,
  place: number,
  call: ToolCall,
  { result, at }: Pick<StoredCall, 'result' | 'at'>,
): SessionMessage {
  return {
    ...turnLine(runId, `t${iteration}.${place}`, 'tool', result.output, at),
    tool_call_id: call.id,
    ...(result.by === undefined ? {} : { by: result.by }),
    ...(result.media ? { media: result.media } : {}),
  };
}
