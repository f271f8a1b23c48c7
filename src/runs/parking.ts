/** What a run leaves that waits: its waits, made ready for the commit that parks it. */
import type { RunRow } from '../core/run.ts';
import type { ToolResult } from '../core/tool.ts';
import { lateResult, type NewWait, type Question, waitId } from '../core/wait.ts';
import { plainName } from '../lib/plain-name.ts';
import type { RunQuestions } from '../operator/run-questions.ts';
import { childOf } from './child-run.ts';
import { topicHolding } from './topic-output.ts';

export interface PlacedWaits {
  readonly waits: readonly NewWait[];
  /** To be called once they are on disk. */
  onDisk(): void;
}

const NOT_ASKED: ToolResult = {
  ok: false,
  output: 'Error: the question cannot be asked now, and was not: too much was asked within an hour, or the chat does not work',
};

/** Rejects as the journal does. */
export async function placeWaits(
  row: RunRow,
  waits: readonly NewWait[],
  { questions, taint }: { readonly questions: Pick<RunQuestions, 'place'>; readonly taint: number },
): Promise<PlacedWaits> {
  const ready: (() => void)[] = [];
  const placed: NewWait[] = [];
  for (const wait of waits) {
    if (wait.kind === 'run') placed.push({ ...wait, about: childOf(row, wait.about, taint) });
    else if (wait.kind !== 'person') placed.push(wait);
    else {
      const question = await questions.place(inItsTopic(row, wait.about), { id: waitId(row.key, wait.callId), run: row.key });
      if (question) ready.push(() => question.onDisk());
      const { due = wait.about.expiresAt, late = lateResult({}) } = wait;
      placed.push(question ? { ...wait, due, late, asked: question.asked } : { ...wait, value: NOT_ASKED });
    }
  }
  return {
    waits: placed,
    onDisk() {
      for (const one of ready) one();
    },
  };
}

/** A question is shown whatever topic is active, so it says which one it is of. */
function inItsTopic(row: RunRow, question: Question): Question {
  const topic = topicHolding(row);
  return topic ? { ...question, text: `In topic “${plainName(topic)}”: ${question.text}` } : question;
}
