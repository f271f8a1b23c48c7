/**
 * What people say to a run while it is under way: notes that it reads between its steps (queue mode steer).
 */

import type { SessionMessage } from '../core/session.ts';
import type { StepRecord } from '../core/step.ts';
import type { AgentOutcome, AgentRun } from '../core/turn.ts';
import { failureText } from '../llm/failure-text.ts';
import type { Replay } from './replay.ts';
import { turnLine } from './turn-lines.ts';

/**
 * The line of the `ordinal`-th note, from 0: the same on every attempt. Undefined = it tells the run nothing.
 */
export function noteLine(runId: string, ordinal: number, { value }: StepRecord): SessionMessage | undefined {
  const note = toldBy(value);
  return note && turnLine(runId, `n${ordinal}`, 'user', note.text, note.at);
}

function toldBy(value: StepRecord['value']): { readonly text: string; readonly at: number } | undefined {
  if (typeof value !== 'object' || value === null || !('text' in value)) return undefined;
  const { text, at } = value;
  return typeof text === 'string' ? { text, at: typeof at === 'number' ? at : 0 } : undefined;
}

/** Those of the steps that tell a run something, in the order they were said. */
export function notesIn(steps: readonly StepRecord[]): readonly StepRecord[] {
  return steps.filter(({ kind, value }) => kind === 'note' && toldBy(value)).toSorted((a, b) => a.n - b.n);
}

/** The notes of one run, and how many of them it has read. */
export class Steering {
  readonly #run: Pick<AgentRun, 'runId' | 'steps'>;
  readonly #replay: Pick<Replay, 'hasAnswer'>;
  #notes: readonly StepRecord[];
  #seen = 0;
  /** Answers after which a person had added something. */
  readonly #said: string[] = [];

  constructor(run: Pick<AgentRun, 'runId' | 'steps'>, replay: Pick<Replay, 'hasAnswer'>) {
    this.#run = run;
    this.#replay = replay;
    this.#notes = notesIn(run.steps.recorded);
  }

  get seen(): number {
    return this.#seen;
  }

  /**
   * Adds the notes to read before an answer to the lines: of a recorded one, those that it had seen, else all
   * there are by now. Returns what they bring in.
   */
  async read(recorded: { readonly notes?: number } | undefined, lines: SessionMessage[]): Promise<number> {
    const upTo = recorded ? (recorded.notes ?? 0) : await this.#count();
    const from = this.#seen;
    const read = this.#notes.slice(from, upTo);
    this.#seen = Math.max(from, Math.min(upTo, this.#notes.length));
    lines.push(...read.flatMap((note, i) => noteLine(this.#run.runId, from + i, note) ?? []));
    return read.reduce((sum, { taint = 0 }) => sum | taint, 0);
  }

  /**
   * Whether the run goes on after an answer that asks for no tool, because something was said meanwhile. What
   * it answered is said with what comes next.
   */
  async goesOn(text: string): Promise<boolean> {
    const goesOn = this.#replay.hasAnswer || (await this.#count()) > this.#seen;
    if (goesOn) this.#said.push(text);
    return goesOn;
  }

  /** The end of the run with what it answered before, which is told also when what followed failed. */
  ended(outcome: AgentOutcome): AgentOutcome {
    const said = this.#said.filter((text) => text.trim() !== '');
    if (said.length === 0) return outcome;
    const whole = (text: string): string => [...said, text].join('\n\n');
    if (outcome.kind === 'failed') return { kind: 'answered', text: whole(failureText(outcome.failure)) };
    return outcome.kind === 'answered' || outcome.kind === 'limit' ? { ...outcome, text: whole(outcome.text) } : outcome;
  }

  async #count(): Promise<number> {
    const newer = await this.#run.steps.notes?.();
    if (newer) this.#notes = notesIn(newer);
    return this.#notes.length;
  }
}
