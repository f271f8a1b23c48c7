/** Small parts of how a run ends. */
import type { Choice } from '../core/message.ts';
import type { ModelCallContext } from '../core/model.ts';
import type { TurnResult } from '../core/run.ts';
import { channelOf, type RunRow } from '../core/run.ts';
import type { SessionMessage } from '../core/session.ts';
import type { ToolResult } from '../core/tool.ts';
import type { AgentResult } from '../core/turn.ts';
import type { NewWait } from '../core/wait.ts';

/** What ends a run, and what the chat is told. */
export interface End {
  readonly state: TurnResult['state'];
  /** Short and stable, as in `TurnResult`. */
  readonly outcome: string;
  /** Absent = nothing is said. */
  readonly text?: string;
  readonly files?: AgentResult['files'];
  readonly choices?: readonly Choice[];
  readonly lines?: readonly SessionMessage[];
}

/** How an attempt ended, before that is on disk. */
export interface Ended extends TurnResult {
  /** To be called once it is. */
  readonly onDisk?: () => void;
}

/** What the person must learn stands below the answer; the session keeps what the model said. */
export function withNotice(result: AgentResult, notice: string): AgentResult {
  const { outcome } = result;
  if (notice === '' || outcome.kind !== 'answered') return result;
  return { ...result, outcome: { ...outcome, text: `${outcome.text}\n\n${notice}` } };
}

/** For what a turn spends before its agent runs. */
export function callContext(row: RunRow): ModelCallContext {
  return { session: row.session, channel: channelOf(row), sender: row.authority.principal, purpose: 'transcription' };
}

/** For the run or the client that waits for this one. */
export function resultOf({ state, outcome }: Pick<TurnResult, 'state' | 'outcome'>, text: string): ToolResult {
  const ok = state === 'DONE' && !/^(?:failed|refused):/.test(outcome);
  return { ok, output: ok ? text : `Error: ${text}` };
}

/**
 * Of a run beside another one: its question and its last words. Its tool traffic would stand between that of
 * the other.
 */
export function onlyWords(lines: readonly SessionMessage[], beside: string): readonly SessionMessage[] {
  const [asked] = lines;
  const last = lines.findLast(({ role }) => role === 'assistant');
  if (!asked || !last) return lines;
  const { tool_calls: _calls, reasoning_content: _reasoning, provider_state: _state, ...words } = last;
  return [asked, words].map((line) => ({ ...line, beside }));
}

/** Stands above an answer when one to a later message was given before it. */
export const LATER_FIRST = '↩️ To your earlier message (a later one was answered first):';

/** Each kind once. */
export function kindsOf(waits: readonly NewWait[]): string {
  return [...new Set(waits.map(({ kind }) => kind))].join(' ');
}

/** What the run had read is said of each line it leaves. */
export function withTaint<Result extends TurnResult>(result: Result, taint: number): Result {
  if (taint === 0) return result;
  return { ...result, taint, lines: result.lines.map((line) => ({ ...line, taint: taint | (line.taint ?? 0) })) };
}
