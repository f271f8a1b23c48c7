// The messages of a task as its model is shown them: what is older became a summary (P14).
import type { SessionMessage } from '../core/session.ts';
import type { AgentRun } from '../core/turn.ts';
import { unlessAborted } from '../lib/unless-aborted.ts';
import { isCompacted, planCompaction, summarise } from './compact.ts';
import { COMPACTED, type Replay } from './replay.ts';
import { encodeCompacted, type StoredSummary } from './stored-steps.ts';

/** Summaries that may fail in one attempt at a run; then what is older is left out without asking again. */
const MOST_FAILED = 2;

/** Of one attempt at a run. A summary is a recorded step: no later attempt pays for it again. */
export class WorkingMessages {
  readonly #run: AgentRun;
  readonly #replay: Replay;
  #summary: StoredSummary | undefined;
  /** Id of the newest message that is left out, because no summary of it could be made. */
  #leftOut: string | undefined;
  #failed = 0;

  constructor(run: AgentRun, replay: Replay) {
    this.#run = run;
    this.#replay = replay;
    this.#summary = replay.compacted;
  }

  /** The task itself, the summary, and what came after it, word for word. */
  of(messages: readonly SessionMessage[]): readonly SessionMessage[] {
    const shown = this.#summarised(messages);
    return this.#leftOut === undefined ? shown : this.#after(shown, this.#leftOut, shown.filter(isCompacted));
  }

  /**
   * Before a model call: makes a summary where there are too many messages; where that fails, the older ones
   * are left out. Rejects when a step could not be made durable.
   */
  async update(messages: readonly SessionMessage[], signal: AbortSignal): Promise<void> {
    const { limits, summaries, runId, steps } = this.#run;
    const shown = this.#summarised(messages);
    const plan = limits.compaction && planCompaction(shown, limits.compaction);
    const to = plan && shown[plan.end - 1]?.id;
    if (!plan || to === undefined) return;
    // The task stays as it was given.
    const older = shown.slice(plan.begin, plan.end).filter((message) => !this.#isTask(message));
    if (older.every(isCompacted)) return;
    const made =
      summaries && this.#failed < MOST_FAILED
        ? await unlessAborted(summarise({ messages: older, kind: 'task', name: `${runId}#${to}` }, summaries, signal), signal)
        : undefined;
    if (signal.aborted) return;
    if (made?.kind !== 'summary') {
      this.#failed += made ? 1 : 0;
      this.#leftOut = to;
      return;
    }
    this.#summary = { to, line: made.line };
    this.#leftOut = undefined;
    const step = { n: this.#replay.n, kind: 'model', callId: COMPACTED, state: 'DONE' } as const;
    await steps.record({ ...step, value: encodeCompacted(this.#summary) });
  }

  #summarised(messages: readonly SessionMessage[]): readonly SessionMessage[] {
    return this.#summary ? this.#after(messages, this.#summary.to, [this.#summary.line]) : messages;
  }

  /** The messages behind the one with this id, below the task, where that stood before it, and `instead`. */
  #after(messages: readonly SessionMessage[], id: string, instead: readonly SessionMessage[]): readonly SessionMessage[] {
    const end = messages.findIndex((message) => message.id === id) + 1;
    if (end === 0) return messages;
    const task = messages.slice(0, end).filter((message) => this.#isTask(message));
    return [...task, ...instead, ...messages.slice(end)];
  }

  #isTask({ id }: SessionMessage): boolean {
    return id === this.#run.input.id;
  }
}
