/** From the chunks of a Gemini stream to those of the one assembly that knows the rules for answers; no sockets, no time. */
import { randomUUID } from 'node:crypto';
import type { ModelEvent } from '../../core/model.ts';
import { createFailure, quote } from '../failure.ts';
import { AnswerAssembly, type AnswerOptions } from './openai-answer.ts';
import { asRecord } from './tool-call-assembly.ts';
import type { Assembly } from './wire.ts';
import { WireFault } from './wire-guard.ts';

/** Reasons that withhold an answer (https://ai.google.dev/api/generate-content#FinishReason). */
const WITHHELD =
  /^(?:SAFETY|RECITATION|BLOCKLIST|PROHIBITED_CONTENT|SPII|IMAGE_SAFETY|IMAGE_PROHIBITED_CONTENT|IMAGE_RECITATION)$/;
/** The model wrote something that is no answer; it may do better next time. */
const BROKEN = /^(?:MALFORMED_FUNCTION_CALL|MALFORMED_RESPONSE|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS)$/;

/** What an OpenAI chat stream would have said. */
interface Delta {
  content: string;
  reasoning_content: string;
  readonly tool_calls: { index: number; id: string; function: { name: string; arguments: string } }[];
}

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

  add(raw: unknown): { readonly events: readonly ModelEvent[]; readonly progress: boolean } {
    const chunk = asRecord(raw);
    const blocked = asRecord(chunk['promptFeedback'])['blockReason'];
    if (typeof blocked === 'string') {
      const message = `the provider refused the prompt (blockReason ${quote(blocked)})`;
      // The same prompt is refused again.
      throw new WireFault(createFailure('content-filter', { message, retryable: false }));
    }
    const candidate = asRecord(Array.isArray(chunk['candidates']) ? chunk['candidates'][0] : undefined);
    const delta = this.#delta(asRecord(candidate['content'])['parts']);
    const finishReason = toFinishReason(candidate['finishReason']);
    const usage = toUsage(asRecord(chunk['usageMetadata']));
    const { events } = this.#answer.add({
      choices: [{ delta, ...(finishReason ? { finish_reason: finishReason } : {}) }],
      ...(usage ? { usage } : {}),
    });
    // Every chunk repeats the usage so far, also one that brings nothing else.
    const progress = delta.content + delta.reasoning_content !== '' || delta.tool_calls.length > 0 || finishReason !== undefined;
    return { events, progress };
  }

  end(): readonly ModelEvent[] {
    return this.#answer.end();
  }

  #delta(parts: unknown): Delta {
    const delta: Delta = { content: '', reasoning_content: '', tool_calls: [] };
    for (const part of Array.isArray(parts) ? parts.map(asRecord) : []) {
      const { text, functionCall, thoughtSignature } = part;
      if (typeof text === 'string') {
        if (part['thought'] === true) delta.reasoning_content += text;
        else delta.content += text;
      }
      if (functionCall === undefined) continue;
      const { id, name, args } = asRecord(functionCall);
      // The API gives calls no id, or one that is only unique within the answer.
      const callId = typeof id === 'string' && id !== '' ? id : `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
      const json = JSON.stringify(args ?? {});
      delta.tool_calls.push({
        index: this.#calls,
        id: callId,
        function: { name: typeof name === 'string' ? name : '', arguments: json },
      });
      this.#calls += 1;
      if (typeof thoughtSignature === 'string') this.#onSignature(callId, thoughtSignature);
    }
    return delta;
  }
}

function toFinishReason(reason: unknown): 'stop' | 'length' | undefined {
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
function toUsage(usage: Readonly<Record<string, unknown>>): object | undefined {
  if (typeof usage['promptTokenCount'] !== 'number') return undefined;
  const count = (key: string): number => (typeof usage[key] === 'number' ? usage[key] : 0);
  return {
    prompt_tokens: count('promptTokenCount') + count('toolUsePromptTokenCount'),
    completion_tokens: count('candidatesTokenCount') + count('thoughtsTokenCount'),
    prompt_tokens_details: { cached_tokens: count('cachedContentTokenCount') },
  };
}
