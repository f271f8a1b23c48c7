/** From the events of an Anthropic stream to those of the one assembly that knows the rules for answers; no sockets, no time. */
import type { ModelEvent } from '../../core/model.ts';
import { createFailure } from '../failure.ts';
import { AnswerAssembly, type AnswerOptions } from './openai-answer.ts';
import { asRecord } from './tool-call-assembly.ts';
import type { Assembly } from './wire.ts';
import { WireFault } from './wire-guard.ts';

type Added = ReturnType<Assembly['add']>;
type Json = Readonly<Record<string, unknown>>;

const NOTHING: Added = { events: [], progress: false };
const COUNTS = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens'] as const;

export class AnthropicAssembly implements Assembly {
  readonly #answer: AnswerAssembly;
  readonly #counts = new Map<(typeof COUNTS)[number], number>();
  /** Arguments that came whole with the start of a call, by block, until a piece of JSON replaces them. */
  readonly #inputs = new Map<unknown, string>();

  constructor(options: AnswerOptions) {
    this.#answer = new AnswerAssembly(options);
  }

  get finished(): boolean {
    return this.#answer.finished;
  }

  get looping(): boolean {
    return this.#answer.looping;
  }

  add(raw: unknown): Added {
    const chunk = asRecord(raw);
    switch (chunk['type']) {
      case 'message_start':
        this.#count(asRecord(chunk['message'])['usage']);
        return this.#answer.add({});
      case 'content_block_start':
        return this.#block(asRecord(chunk['content_block']), chunk['index']);
      case 'content_block_delta':
        return this.#delta(asRecord(chunk['delta']), chunk['index']);
      case 'content_block_stop':
        return this.#stopBlock(chunk['index']);
      case 'message_delta':
        this.#count(chunk['usage']);
        return this.#stop(asRecord(chunk['delta'])['stop_reason']);
      case 'message':
        return this.#whole(chunk);
      default:
        return NOTHING;
    }
  }

  end(): readonly ModelEvent[] {
    for (const index of [...this.#inputs.keys()]) this.#stopBlock(index);
    return this.#answer.end();
  }

  #block(block: Json, index: unknown): Added {
    switch (block['type']) {
      case 'text':
        return this.#say({ content: block['text'] });
      case 'thinking':
        return this.#say({ reasoning_content: block['thinking'] });
      case 'tool_use': {
        const { id, name, input } = block;
        if (Object.keys(asRecord(input)).length > 0) this.#inputs.set(index, JSON.stringify(input));
        return this.#say({ tool_calls: [{ index, id, function: { name, arguments: '' } }] });
      }
      default:
        return NOTHING;
    }
  }

  #delta(delta: Json, index: unknown): Added {
    switch (delta['type']) {
      case 'text_delta':
        return this.#say({ content: delta['text'] });
      case 'thinking_delta':
        return this.#say({ reasoning_content: delta['thinking'] });
      case 'input_json_delta': {
        const json = delta['partial_json'];
        if (typeof json !== 'string' || json === '') return NOTHING;
        this.#inputs.delete(index);
        return this.#say({ tool_calls: [{ index, function: { arguments: json } }] });
      }
      default:
        return NOTHING;
    }
  }

  #stopBlock(index: unknown): Added {
    const input = this.#inputs.get(index);
    if (input === undefined) return NOTHING;
    this.#inputs.delete(index);
    return this.#say({ tool_calls: [{ index, function: { arguments: input } }] });
  }

  #stop(reason: unknown): Added {
    const finishReason = toFinishReason(reason);
    return this.#answer.add({
      choices: finishReason ? [{ delta: {}, finish_reason: finishReason }] : [],
      ...(this.#counts.has('output_tokens') ? { usage: this.#usage() } : {}),
    });
  }

  /** Some servers ignore `stream` and send the whole message at once. */
  #whole(message: Json): Added {
    const blocks = Array.isArray(message['content']) ? message['content'].map(asRecord) : [];
    const added = blocks.flatMap((block, index) => [this.#block(block, index), this.#stopBlock(index)]);
    this.#count(message['usage']);
    added.push(this.#stop(message['stop_reason']));
    return { events: added.flatMap(({ events }) => events), progress: true };
  }

  #say(delta: object): Added {
    return this.#answer.add({ choices: [{ delta }] });
  }

  /** Counts are running totals. Some servers begin with zeros, some end with them. */
  #count(usage: unknown): void {
    const counts = asRecord(usage);
    for (const name of COUNTS) {
      const value = counts[name];
      if (typeof value === 'number' && (value > 0 || !this.#counts.has(name))) this.#counts.set(name, value);
    }
  }

  /** Spec B7: what went into the cache or came from it is input. Only what came from it costs less. */
  #usage(): object {
    const count = (name: (typeof COUNTS)[number]): number => this.#counts.get(name) ?? 0;
    const read = count('cache_read_input_tokens');
    return {
      prompt_tokens: count('input_tokens') + count('cache_creation_input_tokens') + read,
      completion_tokens: count('output_tokens'),
      prompt_tokens_details: { cached_tokens: read },
    };
  }
}

/** https://docs.anthropic.com/en/api/handling-stop-reasons */
function toFinishReason(reason: unknown): 'stop' | 'length' | 'tool_calls' | undefined {
  switch (reason) {
    case undefined:
    case null:
      return undefined;
    case 'tool_use':
      return 'tool_calls';
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    case 'refusal': {
      const message = 'the model refused (stop_reason refusal)';
      // The same conversation is refused again.
      throw new WireFault(createFailure('content-filter', { message, retryable: false }));
    }
    default:
      // end_turn, stop_sequence; pause_turn belongs to tools that run at Anthropic, which are never asked for.
      return 'stop';
  }
}
