/** What a run that waits ends with, and what it is told when it goes on. */
import type { SessionMessage, ToolCall } from '../core/session.ts';
import type { Tool, ToolResult } from '../core/tool.ts';
import type { AgentRun } from '../core/turn.ts';
import { type NewWait, nthWait } from '../core/wait.ts';
import { shapeResult } from '../tools/run.ts';
import { approvalId } from './approve.ts';
import type { StoredCall } from './stored-steps.ts';
import { turnLine, UNKNOWN } from './turn-lines.ts';

/** The waits that calls of one answer came to, in the order of the calls. */
export function waitsOf(run: AgentRun, calls: readonly ToolCall[], results: readonly StoredCall[]): readonly NewWait[] {
  return calls.flatMap((call, i) => {
    const { result, needsYes } = results[i] ?? {};
    const next = () => nthWait(call.id, settledValues(run, call).length + 1);
    return result?.wait ? [{ ...result.wait, callId: needsYes ? approvalId(call.id) : next() }] : [];
  });
}

/** What the waits of a call came to, oldest first. */
function settledValues({ settled }: AgentRun, { id }: ToolCall): readonly ToolResult[] {
  const values: ToolResult[] = [];
  for (;;) {
    const value = settled?.get(nthWait(id, values.length + 1));
    if (!value) return values;
    values.push(value);
  }
}

interface Going {
  /** Its `run` is `resume`. */
  readonly tool: Tool;
  /** What became of it: `again` = it is not known, and the call may simply run again. Read once it ran. */
  lost(): 'unknown' | 'again' | undefined;
}

/** A tool that goes on with a call that an earlier attempt began. Undefined = it cannot. */
export function goingOn(run: AgentRun, call: ToolCall, tool: Tool): Going | undefined {
  if (!tool.resume) return undefined;
  const values = settledValues(run, call);
  let lost: ReturnType<Going['lost']>;
  return {
    tool: {
      ...tool,
      async run(args, context) {
        const result = await tool.resume?.(values, args, context);
        // What a person answered belongs to the call that asked, and to no second one.
        if (!result) lost = values.length === 0 && mayRunAgain(tool) ? 'again' : 'unknown';
        return result ?? { ok: false, output: UNKNOWN };
      },
    },
    lost: () => lost,
  };
}

/** Whether a call that was cut off may run a second time. */
export function mayRunAgain({ effect, idempotent }: Tool): boolean {
  return effect === 'none' || idempotent === true;
}

/** What the wait of a call came to, as the result of the call. */
export function settledResult(run: AgentRun, call: ToolCall, tool: Tool): ToolResult | undefined {
  const value = tool.resume ? undefined : run.settled?.get(call.id);
  return value && shapeResult(tool, value);
}

/**
 * A tool with an effect may have taken it before it waits, and would take it again after a crash, unless it
 * goes on with what it began, or taking it twice changes nothing more.
 */
export function mayWait(tool: Tool, result: ToolResult): ToolResult {
  if (!result.wait || mayRunAgain(tool) || tool.resume) return result;
  return { ok: false, output: `Error: ${tool.name} has an effect, so it cannot wait` };
}

/** The id of a wait within a model call: `n` is the step that the answer will be. */
export function modelWait(n: number): string {
  return `model/${n}`;
}

/** For `ModelRequest.mayWait`. */
export function verdictOf(run: AgentRun, n: number): { readonly verdict?: string } {
  const value = run.settled?.get(modelWait(n));
  return value ? { verdict: value.output } : {};
}

/**
 * The lines of a run with what it is told beside them, which no session keeps. Other requests that wait come
 * behind the input; what was said while this one waited, behind what it had when it went on. So nothing that
 * stood there before moves, and the prompt's beginning stays the same.
 */
export function withNotes(run: AgentRun, lines: readonly SessionMessage[], resumedAt: number): readonly SessionMessage[] {
  const { waiting, since } = run.notes ?? {};
  const note = (suffix: string, text: string | undefined): readonly SessionMessage[] =>
    text === undefined ? [] : [turnLine(run.runId, suffix, 'system', text, Date.parse(run.input.timestamp))];
  return [
    ...lines.slice(0, 1),
    ...note('waiting', waiting),
    ...lines.slice(1, resumedAt),
    ...note('since', since),
    ...lines.slice(Math.max(1, resumedAt)),
  ];
}
