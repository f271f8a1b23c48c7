/**
 * What is special about the run of a task: what its model is told, how far it is, what people are told of it.
 */

import { COMPACTED } from '../agent/replay.ts';
import { isBackground } from '../core/awaited.ts';
import { elsewhereId } from '../core/elsewhere.ts';
import type { InboundMessage } from '../core/message.ts';
import type { NewPart } from '../core/outbox.ts';
import { type RunRow, targetOf } from '../core/run.ts';
import type { StepRecord } from '../core/step.ts';
import type { RunLimits } from '../core/turn.ts';
import { mark, nameInMark, words } from '../lib/marks.ts';
import type { End } from './ended.ts';
import type { Prepared } from './prepare.ts';
import type { RunnerOptions } from './runner-options.ts';
import { lateMark, ofTopic } from './topic-output.ts';

/** Until it is over. */
const MOST_PROGRESS = 99;

/** What the model reads: it must know that no person reads along, and that only its last words are kept. */
export function taskPrompt(row: RunRow, text: string): string {
  if (row.message || row.profile !== 'task' || row.source.kind === 'job') return text;
  const head = mark(
    `Task "${nameInMark(row.title ?? '', { limit: 80 })}". Work on it by yourself until it is done: nobody reads along. What you answer last is its result.`,
  );
  // The words of a message were marked when it was prepared.
  return `${head}\n\n${row.prompt.from ? text : words(text)}`;
}

/** The message that is prepared when the run begins. Undefined = its words are all there is. */
export function messageOf(row: RunRow): InboundMessage | undefined {
  return row.message ? row.message : row.prompt.from;
}

export function promptedWords(row: RunRow): Prepared {
  const { text, media } = row.message ? { text: row.message.text, media: [] } : row.prompt;
  return { text, media, notice: '' };
}

/**
 * How far a task is: the part of its model calls that is used up, since no one knows how many it will need.
 */
export class Progress {
  readonly #most: number;
  readonly #isCounted: boolean;
  #calls: number;

  constructor(row: RunRow, { maxIterations }: RunLimits, recorded: readonly StepRecord[]) {
    this.#most = maxIterations;
    this.#isCounted = isBackground(row);
    this.#calls = recorded.filter(isCall).length;
  }

  /** The step, with how far the run is once it is on disk. */
  with(step: StepRecord): StepRecord {
    if (!this.#isCounted || !isCall(step)) return step;
    this.#calls += 1;
    return { ...step, progress: Math.min(MOST_PROGRESS, Math.floor((100 * this.#calls) / this.#most)) };
  }
}

/** A summary of its working messages is a step of the model, too, and none of the calls that are limited. */
function isCall({ kind, callId }: StepRecord): boolean {
  return kind === 'model' && callId !== COMPACTED;
}

/** A task that failed is dead, so that it can be gone on with from its steps. Other runs end as they did. */
export function asTaskEnd(row: RunRow, end: End): End {
  if (row.profile !== 'task') return end;
  if (end.outcome.startsWith('failed:')) return { ...end, state: 'DEAD' };
  if (end.outcome !== 'no-model') return end;
  return { ...end, state: 'DEAD', outcome: 'failed:GH1104', text: 'There is no AI model yet. Owner: run `gatehouse setup`.' };
}

/** The end of a task as its chat is told of it: by then people have talked of other things. */
function taskText(row: RunRow, { outcome, state, text = '' }: Pick<End, 'outcome' | 'state' | 'text'>): string {
  // A job speaks in its own words: those who read it know it.
  if (row.profile !== 'task' || row.source.kind === 'job' || state === 'PARKED') return text;
  const name = taskName(row);
  if (state === 'DEAD') return `⚠️ ${name} failed.\n\n${text}\n\n\`/tasks resume ${row.seq}\` goes on where it stopped.`;
  if (outcome.startsWith('refused:')) return `⚠️ ${name} was not begun.\n\n${text}`;
  return outcome.startsWith('limit:') ? `⚠️ ${name} was ended early.\n\n${text}` : `✅ ${name} is done.\n\n${text}`;
}

/** As people are told of it. */
function taskName({ seq, title = '' }: Pick<RunRow, 'seq' | 'title'>): string {
  return `Task ${seq} “${nameInMark(title, { limit: 80 })}”`;
}

export interface PlanOptions {
  readonly parts: RunnerOptions['parts'];
  readonly elsewhere: RunnerOptions['elsewhere'];
  readonly isThere: RunnerOptions['isThere'];
}

const NOT_DELIVERED = 'This could not be delivered where it was asked for.';

/**
 * The parts that tell the end of a run. Of a task: in the chat it was asked for in; where that has no channel
 * any more, or does not take it, in the one that its person prefers (P49). The run's row says it in any case.
 */
export function endParts(row: RunRow, end: End, { parts, elsewhere, isThere }: PlanOptions): readonly NewPart[] {
  const { text, choices } = end;
  // What is run again attaches its files then.
  const files = end.state === 'DEAD' ? [] : (end.files ?? []);
  const target = targetOf(row);
  if (text === undefined || !target) return [];
  if (row.profile !== 'task') return ofTopic(parts(target, `${lateMark(row.session)}${text}`, files, choices), row, target);
  const told = taskText(row, end);
  const other = elsewhere(row.authority, target);
  const planned = other ? parts({ id: elsewhereId(row.key), ...other }, `${NOT_DELIVERED}\n\n${told}`, files, choices) : [];
  // Their keys are their own. They belong to the run as the others do: what ends or erases it finds them so.
  const inOther = planned.map(({ part, ...rest }) => ({ ...rest, part: { ...part, messageId: row.key } }));
  if (other && !isThere(target)) return inOther;
  const [first, ...rest] = parts(target, told, files, choices);
  if (!first) return [];
  return [inOther.length > 0 ? { ...first, otherwise: inOther } : first, ...rest];
}
