/** From the chunks of an OpenAI chat stream to events and the final answer; knows nothing of sockets and time. */
import type { ModelAnswer, ModelEvent, ModelFailure, StopReason, Usage } from '../../core/model.ts';
import { createFailure, quote } from '../failure.ts';
import { textTokens } from '../tokens.ts';
import { createRepetitionWatch, repetitionStart } from './repetition.ts';
import { createThinkSplitter, splitOrphanClose } from './think-tags.ts';
import { asRecord, createToolCallAssembly } from './tool-call-assembly.ts';

export interface AnswerOptions {
  readonly provider: string;
  readonly model: string;
  /** Estimate, used when the provider reports no usage. */
  readonly inputTokens: number;
}

/** Feed it every parsed chunk with `add`, then call `end` once. */
export class AnswerAssembly {
  readonly #options: AnswerOptions;
  readonly #splitter = createThinkSplitter();
  readonly #tools = createToolCallAssembly();
  readonly #repetition = createRepetitionWatch();
  #text = '';
  #reasoning = '';
  #refusal = '';
  #finishReason: string | undefined;
  #usage: Usage | undefined;
  #loopEnd: number | undefined;
  #chunks = 0;

  constructor(options: AnswerOptions) {
    this.#options = options;
  }

  /** The provider said how the answer ended; only the usage may still come. */
  get finished(): boolean {
    return this.#finishReason !== undefined;
  }

  /** The model repeats itself: break the stream off, the answer is what came before. */
  get looping(): boolean {
    return this.#loopEnd !== undefined;
  }

  /** Takes one parsed chunk, whatever JSON it is; `progress` is false for keep-alives and empty deltas. */
  add(raw: unknown): { readonly events: readonly ModelEvent[]; readonly progress: boolean } {
    this.#chunks += 1;
    const chunk = asRecord(raw);
    const counted = parseUsage(chunk['usage']);
    if (counted) this.#usage = counted;
    const choice = Array.isArray(chunk['choices']) ? asRecord(chunk['choices'][0]) : {};
    // Some servers ignore `stream` and send the whole message at once.
    const delta = asRecord(choice['delta'] ?? choice['message']);
    const said = contentText(delta['content']);
    const thought = said.reasoning + (firstString(delta['reasoning_content'], delta['reasoning']) ?? '');
    this.#refusal += firstString(delta['refusal'], undefined) ?? '';
    const events: ModelEvent[] = [];
    if (thought) this.#take({ text: '', reasoning: thought }, events);
    if (said.text) this.#take(this.#splitter.push(said.text), events);
    let progress = thought !== '' || said.text !== '' || counted !== undefined;
    if (Array.isArray(delta['tool_calls'])) for (const call of delta['tool_calls']) progress = this.#tools.add(call) || progress;
    if (typeof choice['finish_reason'] === 'string') {
      this.#finishReason ??= choice['finish_reason'];
      progress = true;
    }
    return { events, progress };
  }

  /** Last events of the call: `done` or `failed`, perhaps after a `restart` that corrects the streamed text. */
  end(): readonly ModelEvent[] {
    const events: ModelEvent[] = [];
    this.#take(this.#splitter.flush(), events);
    if (this.#repetition.flush()) this.#noteLoop();
    const failed = this.#brokenOff();
    if (failed) return [...events, { type: 'failed', failure: failed }];
    const streamed = this.#text;
    const written = streamed + this.#reasoning;
    if (this.#loopEnd !== undefined) this.#text = streamed.slice(0, this.#loopEnd);
    const orphan = splitOrphanClose(this.#text);
    if (orphan.reasoning) {
      this.#text = orphan.text;
      this.#reasoning += orphan.reasoning;
    }
    // Keeps the promise that the texts after the last restart make up the answer's text.
    if (this.#text !== streamed) {
      events.push({ type: 'restart', reason: this.looping ? 'repetition' : 'reasoning' });
      if (this.#text) events.push({ type: 'text', text: this.#text });
    }
    const result = this.#answer(written);
    events.push('kind' in result ? { type: 'failed', failure: result } : { type: 'done', answer: result });
    return events;
  }

  #take(split: { text: string; reasoning: string }, events: ModelEvent[]): void {
    if (split.reasoning) {
      this.#reasoning += split.reasoning;
      events.push({ type: 'reasoning', text: split.reasoning });
    }
    if (!split.text) return;
    this.#text += split.text;
    events.push({ type: 'text', text: split.text });
    if (this.#repetition.push(split.text)) this.#noteLoop();
  }

  /** Arguments of a tool repeat themselves for good reasons; once there are any, text is not looked at. */
  #noteLoop(): void {
    if (this.#tools.size === 0) this.#loopEnd = repetitionStart(this.#text);
  }

  #brokenOff(): ModelFailure | undefined {
    if (!this.finished && !this.looping) {
      return createFailure('malformed', {
        message: this.#chunks === 0 ? 'the stream ended before anything arrived' : 'the stream ended without a finish reason',
      });
    }
    if (this.#finishReason === 'content_filter') {
      return createFailure('content-filter', { message: 'the provider withheld the answer (finish_reason content_filter)' });
    }
    return undefined;
  }

  /** `written`: also what was taken back, which is billed like the rest. */
  #answer(written: string): ModelAnswer | ModelFailure {
    const toolCalls = this.#tools.finish();
    if (!toolCalls) return createFailure('malformed', { message: 'a tool call arrived without a name' });
    if (this.#text.trim() === '' && toolCalls.length === 0) return this.#empty();
    const { provider, model, inputTokens } = this.#options;
    const calls = toolCalls.map((call) => call.name + call.arguments).join('');
    const estimated = { tokensIn: inputTokens, tokensOut: textTokens(written + calls), tokensCached: 0 };
    return {
      text: this.#text,
      ...(this.#reasoning ? { reasoning: this.#reasoning } : {}),
      toolCalls,
      stop: stopReason(this.#finishReason, toolCalls.length),
      usage: this.#usage ?? estimated,
      provider,
      model,
    };
  }

  #empty(): ModelFailure {
    if (this.#refusal) return createFailure('content-filter', { message: 'the model refused', retryable: false });
    const what = this.#reasoning ? 'only reasoning and no answer' : 'nothing';
    return createFailure('empty', {
      message: `the model returned ${what} (finish_reason ${quote(this.#finishReason ?? 'none')})`,
      ...(this.#finishReason === 'length' ? { hint: 'raise the output token limit, or ask for less' } : {}),
    });
  }
}

/** Tool calls decide: servers say `stop` or `length` with tool calls present. Cut-off arguments are the caller's to refuse. */
function stopReason(finishReason: string | undefined, toolCalls: number): StopReason {
  if (toolCalls > 0) return 'tools';
  return finishReason === 'length' ? 'length' : 'end';
}

/** Content is a string, or a list of parts where reasoning may stand between the text (Mistral). */
function contentText(content: unknown): { text: string; reasoning: string } {
  if (typeof content === 'string') return { text: content, reasoning: '' };
  let text = '';
  let reasoning = '';
  if (Array.isArray(content)) {
    for (const part of content.map(asRecord)) {
      if (typeof part['text'] === 'string') text += part['text'];
      if (Array.isArray(part['thinking']))
        for (const piece of part['thinking']) reasoning += firstString(asRecord(piece)['text'], undefined) ?? '';
    }
  }
  return { text, reasoning };
}

function firstString(first: unknown, second: unknown): string | undefined {
  if (typeof first === 'string' && first !== '') return first;
  return typeof second === 'string' && second !== '' ? second : undefined;
}

function parseUsage(value: unknown): Usage | undefined {
  if (value === undefined || value === null) return undefined;
  const usage = asRecord(value);
  const tokensIn = count(usage['prompt_tokens']);
  const tokensOut = count(usage['completion_tokens']);
  if (tokensIn === undefined || tokensOut === undefined) return undefined;
  // DeepSeek reports cache hits in a field of its own.
  const cached = count(asRecord(usage['prompt_tokens_details'])['cached_tokens']) ?? count(usage['prompt_cache_hit_tokens']);
  return { tokensIn, tokensOut, tokensCached: cached ?? 0 };
}

/** Anything else is no count, and one such row would spoil every sum of the ledger for good. */
function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
