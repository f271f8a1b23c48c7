import type { SessionMessage } from '../core/session.ts';
import type { AgentOutcome, RunLimits } from '../core/turn.ts';
import { counted } from '../lib/counted.ts';
import { cutText } from './cut-text.ts';

export type LimitKind = Extract<AgentOutcome, { kind: 'limit' }>['limit'];

/** What a turn did before a limit ended it. */
export interface Progress {
  readonly modelCalls: number;
  /** Names of the tools that ran, one entry per call. */
  readonly tools: readonly string[];
  /** What it was asked, what the model said, and what the tools answered. */
  readonly lines: readonly SessionMessage[];
}

/** Longest excerpt of the model's last words in a limit's text. */
const LAST_TEXT_CHARS = 600;

/** Longest excerpt of one result, and how many results are quoted, in an answer that is made of them. */
const RESULT_CHARS = 500;
const MOST_RESULTS = 8;
/** From which part of a token budget on the model is told (P15). */
const BUDGET_SHARE = 0.8;

/**
 * The answer of a run that a limit ended, never empty: of a task its last words, else what its tools said
 * (P9), and that it is not done; otherwise the limit and what was done so far.
 */
export function endText(limit: LimitKind, limits: RunLimits, progress: Progress): string {
  const words = limits.endsWithText ? (lastText(progress) || resultsText(progress)).trim() : '';
  return words === '' ? limitText(limit, limits, progress) : `${words}\n\n[Ended before it was done: ${reason(limit, limits)}.]`;
}

function lastText({ lines }: Progress): string {
  return lines.findLast(({ role, content }) => role === 'assistant' && content.trim() !== '')?.content ?? '';
}

/** A summary of the newest results of tools; '' = there are none. */
function resultsText({ lines }: Progress): string {
  const results = lines.filter(({ role, content }) => role === 'tool' && content.trim() !== '').slice(-MOST_RESULTS);
  if (results.length === 0) return '';
  return ['What the tools said last:', ...results.map(({ content }) => `- ${cutText(content.trim(), RESULT_CHARS)}`)].join('\n');
}

/** Names the limit and what was done so far (spec C4). */
function limitText(limit: LimitKind, limits: RunLimits, progress: Progress): string {
  const lines = [`I stopped before I was done: ${reason(limit, limits)}.`, `So far: ${done(progress)}.`];
  const last = lastText(progress).trim();
  if (last !== '') lines.push(`My last note: ${cutText(last, LAST_TEXT_CHARS)}`);
  lines.push(limit === 'loop' ? 'Please ask again in other words.' : 'Write "continue" if I should go on.');
  return lines.join('\n');
}

/**
 * The system prompt of a model call, with what the model must know of limits that are near (P9, P15): a run
 * that is ended in the middle answers little. What changes comes last: providers cache the beginning.
 * `spent`: before this call, which is counted in `modelCalls`; `below`: of it by sub-agents.
 */
export function systemWith(
  system: string,
  { maxIterations, softIterations = Number.POSITIVE_INFINITY, maxTokens, endsWithText }: RunLimits,
  { modelCalls, spent }: { readonly modelCalls: number; readonly spent: Spent },
): string {
  const left = endsWithText ? exactly(maxIterations - modelCalls + 1) : atMost(maxIterations - softIterations + 1);
  const isNearBudget = endsWithText && maxTokens > 0 && spent.tokens >= maxTokens * BUDGET_SHARE;
  return [
    system,
    ...(modelCalls < softIterations ? [] : [`${left}. ${WRAP_UP}`]),
    ...(isNearBudget ? [budgetText(spent, maxTokens)] : []),
  ].join('\n\n');
}

/** In tokens, in and out. */
interface Spent {
  readonly tokens: number;
  /** Of `tokens`, by sub-agents, with what these may still use. */
  readonly below: number;
}

function budgetText({ tokens, below }: Spent, maxTokens: number): string {
  const others = below === 0 ? '' : ' or given to its sub-agents';
  return `${tokens} of the ${maxTokens} tokens of this task are used up${others}; at all of them it is ended. Answer now with what you have, and say what is missing.`;
}

const WRAP_UP = 'Come to an end: do only what is still essential, then answer with what you have, and say what is missing.';

function exactly(callsLeft: number): string {
  return callsLeft === 1 ? 'This is your last model call' : `You have ${callsLeft} model calls left, this one included`;
}

/**
 * For a conversation, whose prompt is long: a text that changed with each call would have all of it paid for
 * in full each time, because providers cache the beginning.
 */
function atMost(callsLeft: number): string {
  return callsLeft === 1 ? exactly(1) : `At most ${callsLeft} model calls are left, this one included`;
}

/**
 * Stands below the last result of an answer that asked for more calls than are run
 * (`RunLimits.maxToolCalls`).
 */
export function notRunText(count: number, { maxToolCalls }: RunLimits): string {
  const calls = `${count} more ${count === 1 ? 'call' : 'calls'} of this answer ${count === 1 ? 'was' : 'were'} not run`;
  return `[${calls}: at most ${maxToolCalls} run per answer. Ask again for those that are still needed.]`;
}

function reason(limit: LimitKind, limits: RunLimits): string {
  switch (limit) {
    case 'iterations':
      return `this turn reached its limit of ${counted(limits.maxIterations, 'model call')}`;
    case 'tokens':
      return `this turn reached its budget of ${counted(limits.maxTokens, 'token')}`;
    case 'time':
      return `this turn reached its time limit of ${duration(limits.wallClockMs)}`;
    case 'step':
      return `one step of this turn reached its time limit of ${duration(limits.stepMs ?? limits.wallClockMs)}`;
    case 'loop':
      return 'I kept repeating the same tool calls';
  }
}

function done(progress: Progress): string {
  const counts = new Map<string, number>();
  for (const name of progress.tools) counts.set(name, (counts.get(name) ?? 0) + 1);
  const tools = [...counts].map(([name, count]) => (count === 1 ? name : `${name} (${count} times)`));
  const calls = counted(progress.modelCalls, 'model call');
  return tools.length === 0 ? `${calls}, no tools` : `${calls}, tools used: ${tools.join(', ')}`;
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 120 || seconds % 60 !== 0 ? counted(seconds, 'second') : counted(seconds / 60, 'minute');
}
