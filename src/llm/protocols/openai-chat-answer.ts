/** From the chunks of an OpenAI chat stream to pieces of an answer. */
import type { Json } from '../../core/message.ts';
import type { ModelEvent, Usage } from '../../core/model.ts';
import { createFailure, quote } from '../failure.ts';
import { type Added, AnswerAssembly, type AnswerOptions, type Piece } from './answer-assembly.ts';
import { AnsweredError } from './http-failure.ts';
import { asRecord } from './tool-call-assembly.ts';
import { count, reportedCost } from './usage-count.ts';
import type { Assembly } from './wire.ts';
import { WireFault } from './wire-guard.ts';

/**
 * The form in which a provider wants its reasoning back: the field `reasoning_content` (DeepSeek, Moonshot), the list `reasoning_details`
 * (OpenRouter), or a thinking chunk of the content (Mistral).
 */
export type KeptReasoning = 'content' | 'details' | 'chunk' | 'none';

type Fields = Readonly<Record<string, unknown>>;

export class ChatAssembly extends AnswerAssembly implements Assembly {
  readonly #keep: KeptReasoning;
  /** As it came: what a provider wants back must not pass the reading of think tags. */
  #reasoning = '';
  readonly #details: Record<string, Json>[] = [];

  /** `keep`: which form of the reasoning the provider wants back. */
  constructor(options: AnswerOptions, keep: KeptReasoning = 'none') {
    super(options);
    this.#keep = keep;
  }

  /** Takes one parsed chunk, whatever JSON it is. */
  override add(raw: unknown): Added {
    const chunk = asRecord(raw);
    const choice = Array.isArray(chunk['choices']) ? asRecord(chunk['choices'][0]) : {};
    throwError(chunk, choice);
    // Some servers ignore `stream` and send the whole message at once.
    const delta = asRecord(choice['delta'] ?? choice['message']);
    const said = contentText(delta['content']);
    const thought = firstString(delta['reasoning_content'], delta['reasoning']) ?? '';
    this.#reasoning += said.reasoning + thought;
    if (Array.isArray(delta['reasoning_details'])) for (const part of delta['reasoning_details']) this.#addDetail(part);
    // Moonshot reports the usage inside the choice.
    const usage = parseUsage(chunk['usage'] ?? choice['usage']);
    const finish = finishOf(choice['finish_reason']);
    return super.add({
      text: said.text,
      reasoning: said.reasoning + thought,
      refusal: firstString(delta['refusal'], undefined) ?? '',
      calls: Array.isArray(delta['tool_calls']) ? delta['tool_calls'].map(callPiece) : [],
      ...(finish ? { finish } : {}),
      ...(usage ? { usage } : {}),
      ...(typeof chunk['model'] === 'string' && chunk['model'] !== '' ? { model: chunk['model'] } : {}),
    });
  }

  override end(): readonly ModelEvent[] {
    return super.end(this.#state());
  }

  #state(): Json | undefined {
    if ((this.#keep === 'content' || this.#keep === 'chunk') && this.#reasoning !== '') return { reasoning: this.#reasoning };
    return this.#keep === 'details' && this.#details.length > 0 ? { details: this.#details } : undefined;
  }

  /** Neighbouring pieces of one text or summary are joined; anything else is kept whole (openrouter.ai, reasoning tokens). */
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

/** Errors that come with status 200: inside the choice (OpenRouter), or as a code that is not 0 (MiniMax). */
function throwError(chunk: Fields, choice: Fields): void {
  const { status_code: code, status_msg: message } = asRecord(chunk['base_resp']);
  if (code) throw new AnsweredError(undefined, { code, message });
  if (choice['error']) throw new AnsweredError(undefined, choice['error']);
}

function callPiece(raw: unknown): NonNullable<Piece['calls']>[number] {
  const { index, id, function: fn } = asRecord(raw);
  const { name, arguments: args } = asRecord(fn);
  return { index, id, name, arguments: args };
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
      reasoning += firstString(asRecord(piece)['text'], undefined) ?? '';
    }
  }
  return { text, reasoning };
}

function firstString(first: unknown, second: unknown): string | undefined {
  if (typeof first === 'string' && first !== '') return first;
  return typeof second === 'string' && second !== '' ? second : undefined;
}

function parseUsage(value: unknown): Usage | undefined {
  const usage = asRecord(value);
  const tokensIn = count(usage['prompt_tokens']);
  const completion = count(usage['completion_tokens']);
  if (tokensIn === undefined || completion === undefined) return undefined;
  const prompt = asRecord(usage['prompt_tokens_details']);
  // DeepSeek and Moonshot report cache hits in fields of their own.
  const cached = count(prompt['cached_tokens']) ?? count(usage['prompt_cache_hit_tokens']) ?? count(usage['cached_tokens']);
  const written = count(prompt['cache_write_tokens']);
  const reasoning = count(asRecord(usage['completion_tokens_details'])['reasoning_tokens']);
  // xAI counts reasoning outside of the completion; its total shows it.
  const outside = reasoning && usage['total_tokens'] === tokensIn + completion + reasoning ? reasoning : 0;
  return {
    tokensIn,
    tokensOut: completion + outside,
    tokensCached: cached ?? 0,
    ...(written ? { tokensCacheWrite: written } : {}),
    ...(reasoning === undefined ? {} : { tokensReasoning: reasoning }),
    ...reportedCost(usage),
  };
}
