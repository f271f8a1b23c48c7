/** From the events of an Anthropic stream to those of the one assembly that knows the rules for answers; no sockets, no time. */
import type { ModelEvent, Usage } from '../../core/model.ts';
import { createFailure } from '../failure.ts';
import { type Added, AnswerAssembly, type AnswerOptions, type Piece } from './answer-assembly.ts';
import { asRecord } from './tool-call-assembly.ts';
import type { Assembly } from './wire.ts';
import { WireFault } from './wire-guard.ts';

type Json = Readonly<Record<string, unknown>>;

/** A sign of life: pings, and events that say nothing of the answer. */
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

  get usage(): Usage | undefined {
    return this.#answer.usage;
  }

  add(raw: unknown): Added {
    const chunk = asRecord(raw);
    switch (chunk['type']) {
      case 'message_start':
        this.#count(asRecord(chunk['message'])['usage']);
        return this.#answer.add(this.#counts.get('input_tokens') ? { usageSoFar: this.#usage() } : {});
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
        return this.#say({ text: stringOf(block['text']) });
      case 'thinking':
        return this.#say({ reasoning: stringOf(block['thinking']) });
      case 'tool_use': {
        const { id, name, input } = block;
        if (Object.keys(asRecord(input)).length > 0) this.#inputs.set(index, JSON.stringify(input));
        return this.#say({ calls: [{ index, id, name, arguments: '' }] });
      }
      default:
        return NOTHING;
    }
  }

  #delta(delta: Json, index: unknown): Added {
    switch (delta['type']) {
      case 'text_delta':
        return this.#say({ text: stringOf(delta['text']) });
      case 'thinking_delta':
        return this.#say({ reasoning: stringOf(delta['thinking']) });
      case 'input_json_delta': {
        const json = delta['partial_json'];
        if (typeof json !== 'string' || json === '') return NOTHING;
        this.#inputs.delete(index);
        return this.#say({ calls: [{ index, arguments: json }] });
      }
      default:
        return NOTHING;
    }
  }

  #stopBlock(index: unknown): Added {
    const input = this.#inputs.get(index);
    if (input === undefined) return NOTHING;
    this.#inputs.delete(index);
    return this.#say({ calls: [{ index, arguments: input }] });
  }

  #stop(reason: unknown): Added {
    const counted = this.#counts.has('output_tokens') ? { usage: this.#usage() } : {};
    // Before the reason is read, which throws for a refusal: that is billed too.
    this.#say(counted);
    const finish = toFinish(reason);
    return this.#say({ ...counted, ...(finish ? { finish } : {}) });
  }

  /** Some servers ignore `stream` and send the whole message at once. */
  #whole(message: Json): Added {
    const blocks = Array.isArray(message['content']) ? message['content'].map(asRecord) : [];
    const added = blocks.flatMap((block, index) => [this.#block(block, index), this.#stopBlock(index)]);
    this.#count(message['usage']);
    added.push(this.#stop(message['stop_reason']));
    return { events: added.flatMap(({ events }) => events), progress: true };
  }

  #say(piece: Piece): Added {
    return this.#answer.add(piece);
  }

  /** Counts are running totals. Some servers begin with zeros, some end with them. */
  #count(usage: unknown): void {
    const counts = asRecord(usage);
    for (const name of COUNTS) {
      const value = counts[name];
      if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && (value > 0 || !this.#counts.has(name)))
        this.#counts.set(name, value);
    }
  }

  /** `input_tokens` is the uncached rest; what went into the cache or came from it is input as well. */
  #usage(): Usage {
    const count = (name: (typeof COUNTS)[number]): number => this.#counts.get(name) ?? 0;
    const read = count('cache_read_input_tokens');
    const written = count('cache_creation_input_tokens');
    return {
      tokensIn: count('input_tokens') + written + read,
      tokensOut: count('output_tokens'),
      tokensCached: read,
      ...(written > 0 ? { tokensCacheWrite: written } : {}),
    };
  }
}

/** https://docs.anthropic.com/en/api/handling-stop-reasons */
function toFinish(reason: unknown): Piece['finish'] {
  switch (reason) {
    case undefined:
    case null:
      return undefined;
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    case 'refusal': {
      const message = 'the model refused (stop_reason refusal)';
      // The same conversation is refused again.
      throw new WireFault(createFailure('content-filter', { message, retryable: false }));
    }
    default:
      // end_turn, tool_use, stop_sequence; pause_turn belongs to tools that run at Anthropic, which are never asked for.
      return 'stop';
  }
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
