/** Makes pieces for the assembly of answers from the chunks of a Gemini stream; no sockets, no time. */
import type { Json } from '../../core/message.ts';
import type { ModelEvent, Usage } from '../../core/model.ts';
import { createFailure, quote } from '../failure.ts';
import { type Added, AnswerAssembly, type Piece } from './answer-assembly.ts';
import type { KeptPart } from './kept-answer.ts';
import { asRecord, type CallPiece } from './tool-call-assembly.ts';
import { count, usageOf } from './usage-count.ts';
import type { Assembly } from './wire.ts';
import { WireFault } from './wire-guard.ts';

/** Reasons that withhold an answer (https://ai.google.dev/api/generate-content#FinishReason). */
const WITHHELD =
  /^(?:SAFETY|MODEL_ARMOR|RECITATION|BLOCKLIST|PROHIBITED_CONTENT|SPII|IMAGE_SAFETY|IMAGE_PROHIBITED_CONTENT|IMAGE_RECITATION)$/;
/** The model wrote something that is no answer; it may do better next time. */
const BROKEN = /^(?:MALFORMED_FUNCTION_CALL|MALFORMED_RESPONSE|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS)$/;

export class GeminiAssembly extends AnswerAssembly implements Assembly {
  readonly #kept: KeptPart[] = [];
  #calls = 0;

  override add(raw: unknown): Added {
    const chunk = asRecord(raw);
    const candidate = asRecord(Array.isArray(chunk['candidates']) ? chunk['candidates'][0] : undefined);
    const usage = toUsage(asRecord(chunk['usageMetadata']));
    const hasEnded = typeof candidate['finishReason'] === 'string' || this.finished;
    // Before prompt and reason are looked at, which may throw: what is withheld is billed too.
    if (usage) super.add(hasEnded ? { usage } : { usageSoFar: usage });
    const blocked = asRecord(chunk['promptFeedback'])['blockReason'];
    if (typeof blocked === 'string') {
      const message = `the provider refused the prompt (blockReason ${quote(blocked)})`;
      // The same prompt is refused again.
      throw new WireFault(createFailure('content-filter', { message, retryable: false }));
    }
    const said = this.#parts(asRecord(candidate['content'])['parts']);
    const finish = toFinish(candidate['finishReason']);
    const served = typeof chunk['modelVersion'] === 'string' ? { model: chunk['modelVersion'] } : {};
    const { events } = super.add({ ...said, ...served, ...(finish ? { finish } : {}) });
    // Every chunk repeats the usage so far, also one that brings nothing else.
    return { events, progress: said.text + said.reasoning !== '' || said.calls.length > 0 || finish !== undefined };
  }

  override end(): readonly ModelEvent[] {
    const says = this.#kept.some(({ call, signature, whole }) => call ?? signature ?? whole);
    return super.end(says ? { parts: this.#kept as unknown as Json } : undefined);
  }

  #parts(parts: unknown): { text: string; reasoning: string; calls: CallPiece[] } {
    const said = { text: '', reasoning: '', calls: [] as CallPiece[] };
    for (const part of Array.isArray(parts) ? parts.map(asRecord) : []) {
      const { text, functionCall, thoughtSignature } = part;
      const signed = typeof thoughtSignature === 'string' ? { signature: thoughtSignature } : {};
      if (part['thought'] === true) {
        said.reasoning += typeof text === 'string' ? text : '';
        if (signed.signature) this.#kept.push({ whole: part as Record<string, Json> });
      } else if (typeof text === 'string') {
        said.text += text;
        this.#keepText({ chars: text.length, ...signed });
      }
      if (functionCall === undefined) continue;
      const { id, name, args } = asRecord(functionCall);
      // The API gives calls no id, or one that is only unique within the answer.
      const given = typeof id === 'string' && id !== '' ? { id } : {};
      const call = given.id ?? `call_${this.#calls}`;
      said.calls.push({ index: this.#calls, id: call, name, arguments: JSON.stringify(args ?? {}) });
      this.#calls += 1;
      this.#kept.push({ call, ...given, ...signed });
    }
    return said;
  }

  /** Pieces of one text are joined, but never across a signature. */
  #keepText(part: KeptPart): void {
    const last = this.#kept.at(-1);
    if (part.signature || last?.chars === undefined || last.signature) this.#kept.push(part);
    else this.#kept.splice(-1, 1, { chars: last.chars + (part.chars ?? 0) });
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
  if (reason === 'MAX_TOKENS') return 'length';
  if (/^(?:STOP|OTHER|FUNCTION_CALL)$/.test(reason)) return 'stop';
  throw new WireFault(createFailure('malformed', { message: `the answer ended badly (finishReason ${quote(reason)})` }));
}

/** Thinking is billed as output; results of Google's own tools as input. */
function toUsage(usage: Readonly<Record<string, unknown>>): Usage | undefined {
  const prompt = count(usage['promptTokenCount']);
  if (prompt === undefined) return undefined;
  const of = (key: string): number => count(usage[key]) ?? 0;
  const reasoning = count(usage['thoughtsTokenCount']);
  const tokensOut = of('candidatesTokenCount') + (reasoning ?? 0);
  const tokensIn = prompt + of('toolUsePromptTokenCount');
  return usageOf({ tokensIn, tokensOut }, { cached: of('cachedContentTokenCount'), reasoning });
}
