/**
 * What a turn leaves that ended without its agent: it was stopped, given up, or failed within the gateway.
 */
import type { ToolUse } from '../core/run.ts';
import type { SessionMessage, ToolCall } from '../core/session.ts';
import type { StepRecord } from '../core/step.ts';
import { canonicalName } from '../core/tool-groups.ts';
import { isEmpty, toolCallsOf } from './model-call.ts';
import { Replay } from './replay.ts';
import { noteLine, notesIn } from './steering.ts';
import type { StoredAnswer, StoredCall, StoredInput } from './stored-steps.ts';
import { argsHash } from './tool-signature.ts';
import { answerLine, BROKEN_OFF, NOT_RUN, resultLine, turnLine, UNKNOWN } from './turn-lines.ts';

/** The assistant line at the end: some providers refuse a tool result followed by the next user message. */
const INTERRUPTED = '[interrupted]';

export interface Interrupted {
  /** What the model was asked; absent where no answer of it is recorded. */
  readonly input?: StoredInput;
  /** Everything after the input. Tool pairs are complete, and the last line is the assistant's. */
  readonly lines: readonly SessionMessage[];
  /** The calls that began, in order. */
  readonly tools: readonly ToolUse[];
}

/**
 * The lines that the agent would have left, from the recorded steps alone: what the model said, its calls and
 * their results, and what people added. A call that was STARTED and has no end has an unknown outcome. Pure,
 * and never throws: it runs inside the transaction that ends the turn. `at`: epoch ms.
 */
export function interrupted(runId: string, steps: readonly StepRecord[], at: number): Interrupted {
  const replay = new Replay(steps);
  const lines: SessionMessage[] = [];
  const tools: ToolUse[] = [];
  let iteration = 0;
  const notes = notesIn(steps).flatMap((note, i) => noteLine(runId, i, note) ?? []);
  let told = 0;
  const tell = (upTo: number): void => {
    lines.push(...notes.slice(told, upTo));
    told = Math.max(told, upTo);
  };
  for (let stored = replay.nextAnswer(); stored; stored = replay.nextAnswer()) {
    // An empty answer was asked for again, and is no line.
    if (isEmpty(stored.answer)) continue;
    iteration += 1;
    tell(stored.notes ?? 0);
    const calls = toolCallsOf(stored.answer);
    lines.push(answerLine(runId, iteration, stored, calls));
    for (const [place, call] of calls.entries()) {
      const result = resultOf(call, replay, stored, at);
      if (result.ended !== 'not-run') tools.push({ name: call.name, isKnown: result.ended === undefined });
      lines.push(resultLine(runId, iteration, place, call, result));
    }
  }
  tell(notes.length);
  lines.push(turnLine(runId, 'end', 'assistant', INTERRUPTED, at));
  return { ...(replay.input ? { input: replay.input } : {}), lines, tools };
}

function resultOf(call: ToolCall, replay: Replay, asked: StoredAnswer, now: number): Pick<StoredCall, 'result' | 'at' | 'ended'> {
  // A call by another name of its tool is recorded under the tool's own.
  const named = { ...call, name: canonicalName(call.name) };
  const step = replay.tool(call.id, argsHash(call)) ?? replay.tool(call.id, argsHash(named));
  if (step?.done) return step.done;
  if (step?.hasNoEffect) return { result: { ok: false, output: BROKEN_OFF }, ended: 'not-run', at: now };
  if (step) return { result: { ok: false, output: UNKNOWN }, ended: 'unknown', at: now };
  return { result: { ok: false, output: NOT_RUN }, ended: 'not-run', at: asked.at };
}
