/** From the chunks of a Gemini stream to those of the one assembly that knows the rules for answers; no sockets, no time. */
import { randomUUID } from 'node:crypto';
import type { ModelEvent, Usage } from '../../core/model.ts';
import { createFailure, quote } from '../failure.ts';
import { type Added, AnswerAssembly, type AnswerOptions, type Piece } from './answer-assembly.ts';
import { asRecord, type CallPiece } from './tool-call-assembly.ts';
import { count } from './usage-count.ts';
import type { Assembly } from './wire.ts';
import { WireFault } from './wire-guard.ts';

/** Reasons that withhold an answer (https://ai.google.dev/api/generate-content#FinishReason). */
const WITHHELD =
  /^(?:SAFETY|RECITATION|BLOCKLIST|PROHIBITED_CONTENT|SPII|IMAGE_SAFETY|IMAGE_PROHIBITED_CONTENT|IMAGE_RECITATION)$/;
/** The model wrote something that is no answer; it may do better next time. */
const BROKEN = /^(?:MALFORMED_FUNCTION_CALL|MALFORMED_RESPONSE|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS)$/;

export class GeminiAssembly implements Assembly {
  readonly #answer: AnswerAssembly;
  readonly #onSignature: (callId: string, signature: string) => void;
  #calls = 0;

  /** `onSignature` is told what has to go back with a call of this answer. */
  constructor(options: AnswerOptions, onSignature: (callId: string, signature: string) => void) {
    this.#answer = new AnswerAssembly(options);
    this.#onSignature = onSignature;
  }

  get finished(): boolean {
    return this.#answer.finished;
  }

  get looping(): boolean {
    return this.#answer.looping;
  }

  get usage(): Usage | undefined {
    return this.#answer.usage;
  }

  add(raw: unknown): Added {
    const chunk = asRecord(raw);
    const candidate = asRecord(Array.isArray(chunk['candidates']) ? chunk['candidates'][0] : undefined);
    const usage = toUsage(asRecord(chunk['usageMetadata']));
    const hasEnded = typeof candidate['finishReason'] === 'string' || this.#answer.finished;
    // Before prompt and reason are looked at, which may throw: what is withheld is billed too.
    if (usage) this.#answer.add(hasEnded ? { usage } : { usageSoFar: usage });
    const blocked = asRecord(chunk['promptFeedback'])['blockReason'];
    if (typeof blocked === 'string') {
      const message = `the provider refused the prompt (blockReason ${quote(blocked)})`;
      // The same prompt is refused again.
      throw new WireFault(createFailure('content-filter', { message, retryable: false }));
    }
    const said = this.#parts(asRecord(candidate['content'])['parts']);
    const finish = toFinish(candidate['finishReason']);
    const { events } = this.#answer.add({ ...said, ...(finish ? { finish } : {}) });
    // Every chunk repeats the usage so far, also one that brings nothing else.
    return { events, progress: said.text + said.reasoning !== '' || said.calls.length > 0 || finish !== undefined };
  }

  end(): readonly ModelEvent[] {
    return this.#answer.end();
  }

  #parts(parts: unknown): { text: string; reasoning: string; calls: CallPiece[] } {
    const said = { text: '', reasoning: '', calls: [] as CallPiece[] };
    for (const part of Array.isArray(parts) ? parts.map(asRecord) : []) {
      const { text, functionCall, thoughtSignature } = part;
      if (typeof text === 'string') {
        if (part['thought'] === true) said.reasoning += text;
        else said.text += text;
      }
      if (functionCall === undefined) continue;
      const { id, name, args } = asRecord(functionCall);
      // The API gives calls no id, or one that is only unique within the answer.
      const callId = typeof id === 'string' && id !== '' ? id : `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
      said.calls.push({ index: this.#calls, id: callId, name, arguments: JSON.stringify(args ?? {}) });
      this.#calls += 1;
      if (typeof thoughtSignature === 'string') this.#onSignature(callId, thoughtSignature);
    }
    return said;
  }
}

function toFinish(reason: unknown): Piece['finish'] {
  if (typeof reason !== 'string' || reason === '' || reason === 'FINISH_REASON_UNSPECIFIED') return undefined;
  if (WITHHELD.test(reason)) {
    const message = `the provider withheld the answer (finishReason ${reason})`;
    throw new WireFault(createFailure('content-filter', { message }));
  }
  if (BROKEN.test(reason)) {
    const message = `the model's answer was not valid (finishReason ${reason})`;
    throw new WireFault(createFailure('malformed', { message }));
  }
  return reason === 'MAX_TOKENS' ? 'length' : 'stop';
}

/** Thinking is billed as output; results of Google's own tools as input. */
function toUsage(usage: Readonly<Record<string, unknown>>): Usage | undefined {
  const prompt = count(usage['promptTokenCount']);
  if (prompt === undefined) return undefined;
  const of = (key: string): number => count(usage[key]) ?? 0;
  const thoughts = count(usage['thoughtsTokenCount']);
  return {
    tokensIn: prompt + of('toolUsePromptTokenCount'),
    tokensOut: of('candidatesTokenCount') + (thoughts ?? 0),
    tokensCached: of('cachedContentTokenCount'),
    ...(thoughts === undefined ? {} : { tokensReasoning: thoughts }),
  };
}
