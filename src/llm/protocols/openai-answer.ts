/** From the chunks of an OpenAI chat stream to events and the final answer; knows nothing of sockets and time. */
import type { ModelAnswer, ModelEvent, ModelFailure, StopReason, Usage } from '../../core/model.ts';
import { createFailure } from '../failure.ts';
import { estimateTokens } from '../tokens.ts';
import { repetitionStart } from './repetition.ts';
import { createThinkSplitter, splitOrphanClose } from './think-tags.ts';
import { asRecord, createToolCallAssembly } from './tool-call-assembly.ts';

export interface AnswerAssembly {
  /** Takes one parsed chunk; `progress` is false for keep-alives and empty deltas. */
  add(chunk: unknown): { readonly events: readonly ModelEvent[]; readonly progress: boolean };
  /** The provider said how the answer ended; only the usage may still come. */
  readonly finished: boolean;
  /** The model repeats itself: break the stream off, the answer is what came before. */
  readonly looping: boolean;
  /** Last events of the call: `done` or `failed`, perhaps after a `restart` that corrects the streamed text. */
  end(): readonly ModelEvent[];
}

export function createAnswerAssembly(options: { provider: string; model: string; inputTokens: number }): AnswerAssembly {
  const splitter = createThinkSplitter();
  const tools = createToolCallAssembly();
  let text = '';
  let reasoning = '';
  let finishReason: string | undefined;
  let refusal = '';
  let usage: Usage | undefined;
  let loopEnd: number | undefined;
  let chunks = 0;

  const take = (split: { text: string; reasoning: string }): ModelEvent[] => {
    text += split.text;
    reasoning += split.reasoning;
    const events: ModelEvent[] = [];
    if (split.reasoning) events.push({ type: 'reasoning', text: split.reasoning });
    if (split.text) events.push({ type: 'text', text: split.text });
    return events;
  };

  const failure = (): ModelFailure | undefined => {
    if (finishReason === undefined && loopEnd === undefined) {
      return createFailure('malformed', {
        message: chunks === 0 ? 'the stream ended before anything arrived' : 'the stream ended without a finish reason',
      });
    }
    if (finishReason === 'content_filter') {
      return createFailure('content-filter', { message: 'the provider withheld the answer (finish_reason content_filter)' });
    }
    return undefined;
  };

  const answer = (): ModelAnswer | ModelFailure => {
    const toolCalls = tools.finish();
    if (!toolCalls) return createFailure('malformed', { message: 'a tool call arrived without a name' });
    if (text.trim() === '' && toolCalls.length === 0) {
      if (refusal) return createFailure('content-filter', { message: 'the model refused', retryable: false });
      const what = reasoning ? 'only reasoning and no answer' : 'nothing';
      return createFailure('empty', {
        message: `the model returned ${what} (finish_reason ${finishReason ?? 'none'})`,
        ...(finishReason === 'length' ? { hint: 'raise the output token limit, or ask for less' } : {}),
      });
    }
    return {
      text,
      ...(reasoning ? { reasoning } : {}),
      toolCalls,
      stop: stopReason(finishReason, toolCalls.length),
      usage: usage ?? { tokensIn: options.inputTokens, tokensOut: estimateTokens(text + reasoning), tokensCached: 0 },
      provider: options.provider,
      model: options.model,
    };
  };

  return {
    add(raw) {
      chunks += 1;
      const chunk = asRecord(raw);
      const counted = parseUsage(chunk['usage']);
      if (counted) usage = counted;
      const choice = Array.isArray(chunk['choices']) ? asRecord(chunk['choices'][0]) : {};
      // Some servers ignore `stream` and send the whole message at once.
      const delta = asRecord(choice['delta'] ?? choice['message']);
      const said = contentText(delta['content']);
      const thought = said.reasoning + (firstString(delta['reasoning_content'], delta['reasoning']) ?? '');
      refusal += firstString(delta['refusal']) ?? '';
      const events = take({ text: '', reasoning: thought });
      if (said.text) events.push(...take(splitter.push(said.text)));
      let progress = thought !== '' || said.text !== '' || counted !== undefined;
      if (Array.isArray(delta['tool_calls'])) for (const call of delta['tool_calls']) progress = tools.add(call) || progress;
      if (typeof choice['finish_reason'] === 'string') {
        finishReason ??= choice['finish_reason'];
        progress = true;
      }
      if (said.text && tools.size === 0) loopEnd = repetitionStart(text);
      return { events, progress };
    },
    get finished() {
      return finishReason !== undefined;
    },
    get looping() {
      return loopEnd !== undefined;
    },
    end() {
      const events = take(splitter.flush());
      const failed = failure();
      if (failed) return [...events, { type: 'failed', failure: failed }];
      const streamed = text;
      if (loopEnd !== undefined) text = text.slice(0, loopEnd);
      const orphan = splitOrphanClose(text);
      if (orphan.reasoning) {
        text = orphan.text;
        reasoning += orphan.reasoning;
      }
      // Keeps the promise that the texts after the last restart make up the answer's text.
      if (text !== streamed) {
        events.push({ type: 'restart', reason: loopEnd === undefined ? 'reasoning' : 'repetition' });
        if (text) events.push({ type: 'text', text });
      }
      const result = answer();
      events.push('kind' in result ? { type: 'failed', failure: result } : { type: 'done', answer: result });
      return events;
    },
  };
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
        for (const piece of part['thinking']) reasoning += firstString(asRecord(piece)['text']) ?? '';
    }
  }
  return { text, reasoning };
}

function firstString(...values: readonly unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === 'string' && value !== '');
}

function parseUsage(value: unknown): Usage | undefined {
  const usage = asRecord(value);
  const tokensIn = count(usage['prompt_tokens']);
  const tokensOut = count(usage['completion_tokens']);
  if (tokensIn === undefined || tokensOut === undefined) return undefined;
  // DeepSeek reports cache hits in a field of its own.
  const cached = count(asRecord(usage['prompt_tokens_details'])['cached_tokens']) ?? count(usage['prompt_cache_hit_tokens']);
  return { tokensIn, tokensOut, tokensCached: cached ?? 0 };
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
