/** From the chunks of an OpenAI chat stream to pieces of an answer. */
import type { Json } from '../../core/message.ts';
import type { ModelEvent, Usage } from '../../core/model.ts';
import { createFailure, quote } from '../failure.ts';
import { type Added, AnswerAssembly, type AnswerOptions, type Piece } from './answer-assembly.ts';
import { AnsweredError } from './http-failure.ts';
import { asRecord } from './tool-call-assembly.ts';
import { count, reportedCost, usageOf } from './usage-count.ts';
import type { Assembly } from './wire.ts';
import { WireFault } from './wire-guard.ts';

/**
 * The form in which a provider wants its reasoning back: the field `reasoning_content` (DeepSeek, Moonshot),
 * the list `reasoning_details` (OpenRouter), or a thinking chunk of the content (Mistral).
 */
export type KeptReasoning = 'content' | 'details' | 'chunk' | 'none';

type Fields = Readonly<Record<string, unknown>>;

export class ChatAssembly extends AnswerAssembly implements Assembly {
  readonly #keep: KeptReasoning;
  /** As it came: what a provider wants back must not pass the reading of think tags. */
  #reasoning = '';
  readonly #details: Record<string, Json>[] = [];
  #streams = false;

  /** `keep`: which form of the reasoning the provider wants back. */
  constructor(options: AnswerOptions, keep: KeptReasoning = 'none') {
    super(options);
    this.#keep = keep;
  }

  /** Takes one parsed chunk, whatever JSON it is. */
  override add(raw: unknown): Added {
    const chunk = asRecord(raw);
    const choice = Array.isArray(chunk['choices']) ? asRecord(chunk['choices'][0]) : {};
    const { finish_reason: reason } = choice;
    // Moonshot reports the usage inside the choice. It is read before what may throw: failed answers are
    // billed too.
    const usage = parseUsage(chunk['usage'] ?? choice['usage']);
    if (usage) super.add(this.finished || reason ? { usage } : { usageSoFar: usage });
    throwError(chunk, choice);
    // Some servers ignore `stream` and send the whole message at once, MiniMax once more after its pieces.
    const delta = asRecord(choice['delta'] ?? (this.#streams ? undefined : choice['message']));
    this.#streams ||= 'delta' in choice;
    const said = contentText(delta['content']);
    const thought = firstString(delta['reasoning_content'], delta['reasoning']);
    this.#reasoning += said.reasoning + thought;
    if (Array.isArray(delta['reasoning_details'])) for (const part of delta['reasoning_details']) this.#addDetail(part);
    const finish = finishOf(reason);
    const { events, progress } = super.add({
      text: said.text,
      reasoning: said.reasoning + thought,
      refusal: firstString(delta['refusal']),
      calls: Array.isArray(delta['tool_calls']) ? delta['tool_calls'].map(callPiece) : [],
      ...(finish ? { finish } : {}),
      ...(typeof chunk['model'] === 'string' && chunk['model'] !== '' ? { model: chunk['model'] } : {}),
    });
    return { events, progress: progress || usage !== undefined };
  }

  override end(): readonly ModelEvent[] {
    if (this.#keep === 'details') return super.end(this.#details.length > 0 ? { details: this.#details } : undefined);
    return super.end(this.#keep === 'none' || this.#reasoning === '' ? undefined : { reasoning: this.#reasoning });
  }

  /** Neighbouring pieces of a text or summary are joined, the rest kept (openrouter.ai, reasoning tokens). */
  #addDetail(raw: unknown): void {
    const part = { ...asRecord(raw) } as Record<string, Json>;
    const last = this.#details.at(-1);
    const key = part['type'] === 'reasoning.text' ? 'text' : part['type'] === 'reasoning.summary' ? 'summary' : undefined;
    if (!key || !last || last['type'] !== part['type'] || (last['index'] ?? null) !== (part['index'] ?? null)) {
      this.#details.push(part);
      return;
    }
    const text = `${last[key] ?? ''}${part[key] ?? ''}`;
    const known = Object.entries(part).filter(([, value]) => value !== null);
    Object.assign(last, Object.fromEntries(known), { [key]: text });
  }
}

/** Errors with status 200: in the choice (OpenRouter), a code other than 0 (MiniMax), in place of choices. */
function throwError(chunk: Fields, choice: Fields): void {
  if (chunk['base_resp']) {
    const { status_code: code, status_msg: said } = asRecord(chunk['base_resp']);
    if (code) throw new AnsweredError(undefined, { code, message: said });
  }
  if (choice['error']) throw new AnsweredError(undefined, choice['error']);
  if (chunk['choices']) return;
  // vLLM, Mistral and DashScope name it so, Zhipu and Venice otherwise.
  const message = firstString(chunk['message'], chunk['msg'], chunk['error_message']);
  if (message) throw new AnsweredError(undefined, { type: chunk['error_type'], ...chunk, message });
}

function callPiece(raw: unknown): NonNullable<Piece['calls']>[number] {
  const { index, id, function: fn } = asRecord(raw);
  return { ...asRecord(fn), index, id };
}

/** Reasons of OpenAI and of servers that speak its wire. One that is not known is no success. */
function finishOf(reason: unknown): Piece['finish'] {
  if (typeof reason !== 'string' || reason === '') return undefined;
  if (/^(?:length|max_tokens|model_context_window_exceeded|model_length)$/i.test(reason)) return 'length';
  if (/content_?filter|sensitive|safety/i.test(reason)) return 'filtered';
  if (/^(?:stop|eos|end|complete|tool|function)/i.test(reason)) return 'stop';
  const kind = /insufficient_system_resource/i.test(reason) ? 'overloaded' : 'malformed';
  throw new WireFault(createFailure(kind, { message: `the answer ended badly (finish_reason ${quote(reason)})` }));
}

/** Content is a string, or a list of parts where reasoning may stand between the text (Mistral). */
function contentText(content: unknown): { text: string; reasoning: string } {
  if (typeof content === 'string') return { text: content, reasoning: '' };
  let text = '';
  let reasoning = '';
  for (const part of Array.isArray(content) ? content.map(asRecord) : []) {
    if (typeof part['text'] === 'string') text += part['text'];
    for (const piece of Array.isArray(part['thinking']) ? part['thinking'] : []) {
      reasoning += firstString(asRecord(piece)['text']);
    }
  }
  return { text, reasoning };
}

function firstString(...values: readonly unknown[]): string {
  for (const value of values) if (typeof value === 'string' && value !== '') return value;
  return '';
}

function parseUsage(value: unknown): Usage | undefined {
  if (typeof value !== 'object') return undefined;
  const usage = asRecord(value);
  const tokensIn = count(usage['prompt_tokens']);
  const completion = count(usage['completion_tokens']);
  // Zeros stand for what was not counted.
  if (tokensIn === undefined || completion === undefined || tokensIn + completion === 0) return undefined;
  const prompt = asRecord(usage['prompt_tokens_details']);
  // DeepSeek and Moonshot report cache hits in fields of their own.
  const cached = count(prompt['cached_tokens']) ?? count(usage['prompt_cache_hit_tokens']) ?? count(usage['cached_tokens']);
  const reasoning = count(asRecord(usage['completion_tokens_details'])['reasoning_tokens']);
  // xAI and Gemini count reasoning outside of the completion; their total shows it. Others leave out what
  // came from a cache.
  const rest = Math.max(0, (count(usage['total_tokens']) ?? 0) - tokensIn - completion);
  const outside = rest === cached ? 0 : rest;
  const told = { cached, written: count(prompt['cache_write_tokens']), reasoning, costUsd: reportedCost(usage) };
  return usageOf({ tokensIn, tokensOut: completion + outside }, told);
}
