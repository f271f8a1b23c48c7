import type { AgentOutcome, RunLimits } from '../core/turn.ts';
import { cutText } from './cut-text.ts';

export type LimitKind = Extract<AgentOutcome, { kind: 'limit' }>['limit'];

/** What a turn did before a limit ended it. */
export interface Progress {
  readonly modelCalls: number;
  /** Names of the tools that ran, one entry per call. */
  readonly tools: readonly string[];
  /** The newest text the model wrote between its tool calls; may be empty. */
  readonly lastText: string;
}

/** Longest excerpt of the model's last words in a limit's text. */
const LAST_TEXT_CHARS = 600;

/** The answer of a turn that a limit ended: names the limit and what was done so far (spec C4). */
export function limitText(limit: LimitKind, limits: RunLimits, progress: Progress): string {
  const lines = [`I stopped before I was done: ${reason(limit, limits)}.`, `So far: ${done(progress)}.`];
  const last = progress.lastText.trim();
  if (last !== '') lines.push(`My last note: ${cutText(last, LAST_TEXT_CHARS)}`);
  lines.push(limit === 'loop' ? 'Please ask again in other words.' : 'Write "continue" if I should go on.');
  return lines.join('\n');
}

/**
 * Stands at the end of the system prompt from the soft limit on (P9): a run that is ended in the middle
 * answers nothing.
 */
export function wrapUpText(callsLeft: number): string {
  const left = callsLeft === 1 ? 'This is your last model call' : `You have ${callsLeft} model calls left, this one included`;
  return `${left}. Come to an end: do only what is still essential, then answer with what you have, and say what is missing.`;
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

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 120 || seconds % 60 !== 0 ? counted(seconds, 'second') : counted(seconds / 60, 'minute');
}
