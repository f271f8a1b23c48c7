/** What earlier attempts at a run left on disk. */

import type { SessionMessage } from '../core/session.ts';
import type { StepRecord } from '../core/step.ts';
import type { Tool } from '../core/tool.ts';
import type { StepLog } from '../core/turn.ts';
import {
  decodeAnswer,
  decodeCall,
  decodeCompacted,
  decodeInput,
  decodeReplaced,
  type StoredAnswer,
  type StoredCall,
  type StoredInput,
  type StoredSummary,
} from './stored-steps.ts';

/** The step of a call that an earlier attempt began. */
export interface RecordedCall {
  readonly n: number;
  readonly hasNoEffect: boolean;
  readonly done?: StoredCall;
  /** The arguments that a hook gave it in place of its own. */
  readonly replaced?: string;
}

/**
 * The call id of a summary's step: it has the number of the answer that is asked for next, and takes none.
 */
export const COMPACTED = 'compacted';

export class Replay {
  readonly #answers: StoredAnswer[] = [];
  readonly #tools = new Map<string, StepRecord>();
  /** The newest summary of its working messages. */
  readonly compacted: StoredSummary | undefined;
  /** Absent: no answer is recorded, or only by a version that did not store it. */
  readonly input: StoredInput | undefined;
  /** Bits of what the recorded answers were asked with: a later attempt may be told less, but reads all. */
  readonly taint: number;
  #nextN = 0;

  /** The input as the recorded answers were asked: what is fetched for it again may have become another. */
  inputOf(line: SessionMessage): SessionMessage {
    if (!this.input) return line;
    const { media: _again, ...rest } = line;
    const { content, media } = this.input;
    return { ...rest, content, ...(media.length > 0 && { media }) };
  }

  constructor(recorded: StepLog['recorded']) {
    let readable = true;
    let input: StoredInput | undefined;
    let taint = 0;
    for (const step of recorded.toSorted((a, b) => a.n - b.n)) {
      if (step.callId === COMPACTED) {
        this.compacted = decodeCompacted(step.value) ?? this.compacted;
        continue;
      }
      // Numbered apart from what the run does: see `Steering`.
      if (step.kind === 'note') continue;
      this.#nextN = Math.max(this.#nextN, step.n + 1);
      if (step.kind === 'model') {
        const stored = decodeAnswer(step.value);
        input ??= decodeInput(step.value);
        taint |= step.taint ?? 0;
        // After an unreadable answer the model is asked anew, and what followed that one is another story.
        readable &&= stored !== undefined;
        if (readable && stored) this.#answers.push(stored);
        continue;
      }
      const key = `${step.callId} ${step.argsHash}`;
      // A log may hold the STARTED record beside the DONE one; DONE wins wherever it stands.
      if (step.state === 'DONE' || !this.#tools.has(key)) this.#tools.set(key, step);
    }
    this.input = input;
    this.taint = taint;
  }

  /** The next recorded model answer; undefined once all were taken. */
  nextAnswer(): StoredAnswer | undefined {
    return this.#answers.shift();
  }

  /** Whether a recorded answer is left. */
  get hasAnswer(): boolean {
    return this.#answers.length > 0;
  }

  /** The step of a call. The hash is part of the key, so the same id on other arguments is another call. */
  tool(callId: string, hash: string): RecordedCall | undefined {
    const step = this.#tools.get(`${callId} ${hash}`);
    if (!step) return undefined;
    const done = step.state === 'DONE' ? decodeCall(step.value) : undefined;
    const hasNoEffect = step.effect === 'none';
    const taint = step.taint ? { taint: step.taint } : {};
    if (done) return { n: step.n, hasNoEffect, done: { ...done, ...taint } };
    const replaced = decodeReplaced(step.value);
    return { n: step.n, hasNoEffect, ...(replaced === undefined ? {} : { replaced }) };
  }

  /** The number of the next new step; above every recorded one. */
  get n(): number {
    return this.#nextN;
  }

  takeN(): number {
    this.#nextN += 1;
    return this.#nextN - 1;
  }
}

/**
 * Those that a run began with, as far as they are there. A call of one that is gone is an ordinary error
 * result.
 */
export function toolsOfFirstStep(tools: readonly Tool[], { input }: Replay): readonly Tool[] {
  const names = input?.tools && new Set(input.tools);
  return names ? tools.filter(({ name }) => names.has(name)) : tools;
}
