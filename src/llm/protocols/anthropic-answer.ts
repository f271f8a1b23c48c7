/** Makes pieces for the assembly of answers from the events of an Anthropic stream; no sockets, no time. */
import type { Json } from '../../core/message.ts';
import type { ModelEvent, Usage } from '../../core/model.ts';
import { createFailure, quote } from '../failure.ts';
import { type Added, AnswerAssembly, type AnswerOptions, NOTHING, type Piece, THINKING } from './answer-assembly.ts';
import type { KeptPart } from './kept-answer.ts';
import { asRecord } from './tool-call-assembly.ts';
import { count, usageOf } from './usage-count.ts';
import type { Assembly } from './wire.ts';
import { WireFault } from './wire-guard.ts';

type Fields = Readonly<Record<string, unknown>>;

const COUNTS = ['input', 'cache_creation_input', 'cache_read_input', 'output', 'thinking'] as const;

const THOUGHT = /^(?:redacted_)?thinking$/;

/** The kind of block that a delta belongs to, where it is not the delta's own name. */
const BLOCK_OF: Readonly<Record<string, string>> = { signature: 'thinking', input_json: 'tool_use' };

export class AnthropicAssembly extends AnswerAssembly implements Assembly {
  readonly #counts = new Map<(typeof COUNTS)[number], number>();
  /** As far as they came, by index. */
  readonly #blocks = new Map<unknown, Record<string, Json>>();
  readonly #model: string;
  readonly #digest: () => string | undefined;

  /** `digest` stands for what was sent, and is kept with the thinking of the answer. */
  constructor(options: AnswerOptions, digest: () => string | undefined = () => undefined) {
    super(options);
    this.#model = options.model;
    this.#digest = digest;
  }

  override add(raw: unknown): Added {
    const chunk = asRecord(raw);
    const added = this.#read(chunk);
    if (added.progress || !('index' in chunk)) return added;
    return THOUGHT.test(stringOf(this.#blocks.get(chunk['index'])?.['type'])) ? THINKING : added;
  }

  #read(chunk: Fields): Added {
    switch (chunk['type']) {
      case 'message_start':
        return this.#start(asRecord(chunk['message']));
      case 'content_block_start':
        return this.#block(asRecord(chunk['content_block']), chunk['index']);
      case 'content_block_delta':
        return this.#delta(asRecord(chunk['delta']), chunk['index']);
      case 'content_block_stop':
        return this.#stopBlock(chunk['index']);
      case 'message_delta':
        this.#count(chunk['usage']);
        return this.#stop(asRecord(chunk['delta']));
      case 'message':
        return this.#whole(chunk);
      default:
        return NOTHING;
    }
  }

  override end(): readonly ModelEvent[] {
    return super.end(this.#state());
  }

  /** Undefined without thinking: the rest of an answer stands in the history. */
  #state(): Json | undefined {
    const parts = [...this.#blocks.values()].flatMap((block): KeptPart[] => {
      if (block['type'] === 'text') return [{ chars: stringOf(block['text']).length }];
      if (block['type'] === 'tool_use') return [{ call: stringOf(block['id']) }];
      return THOUGHT.test(stringOf(block['type'])) ? [{ whole: block }] : [];
    });
    if (!parts.some(({ whole }) => whole)) return undefined;
    const before = this.#digest();
    return { parts: parts as unknown as Json, ...(before === undefined ? {} : { before }) };
  }

  #start(message: Fields): Added {
    this.#count(message['usage']);
    const served = stringOf(message['model']);
    // A name without a date is answered with the dated one.
    const same = served === '' || served.replace(/-\d{8}$/, '') === this.#model;
    const usageSoFar = this.#usage();
    // That of the first piece: only the end counts the whole.
    this.#counts.delete('output');
    return super.add({ ...(same ? {} : { model: served }), ...(usageSoFar.tokensIn > 0 ? { usageSoFar } : {}) });
  }

  #block(block: Fields, index: unknown): Added {
    this.#blocks.set(index, { ...block } as Record<string, Json>);
    switch (block['type']) {
      case 'text':
        return super.add({ text: stringOf(block['text']) });
      case 'thinking':
        return super.add({ reasoning: stringOf(block['thinking']) });
      case 'tool_use': {
        const { id, name } = block;
        return super.add({ calls: [{ index, id, name, arguments: '' }] });
      }
      default:
        return NOTHING;
    }
  }

  #delta(delta: Fields, index: unknown): Added {
    const field = stringOf(delta['type']).replace(/_delta$/, '');
    const block = this.#blocks.get(index);
    // Blocks of other kinds belong to tools that run at Anthropic.
    if (block && block['type'] !== (BLOCK_OF[field] ?? field)) return NOTHING;
    if (field === 'input_json') {
      const json = stringOf(delta['partial_json']);
      if (json === '') return NOTHING;
      if (block) delete block['input'];
      return super.add({ calls: [{ index, arguments: json }] });
    }
    const piece = stringOf(delta[field]);
    if (block) block[field] = stringOf(block[field]) + piece;
    return field === 'text' ? super.add({ text: piece }) : field === 'thinking' ? super.add({ reasoning: piece }) : NOTHING;
  }

  /** Of arguments that came whole with the start of a call. */
  #stopBlock(index: unknown): Added {
    const { type, input } = this.#blocks.get(index) ?? {};
    if (type !== 'tool_use' || Object.keys(asRecord(input)).length === 0) return NOTHING;
    return this.#delta({ type: 'input_json_delta', partial_json: JSON.stringify(input) }, index);
  }

  #stop(delta: Fields): Added {
    // Before the reason is read, which throws for a refusal: that is billed too.
    const counted = this.#counts.get('output') ? super.add({ usage: this.#usage() }) : NOTHING;
    const finish = toFinish(delta);
    if (finish && !this.finished) for (const index of this.#blocks.keys()) this.#stopBlock(index);
    return finish ? super.add({ finish }) : counted;
  }

  /** Some servers ignore `stream` and send the whole message at once. */
  #whole(message: Fields): Added {
    const blocks = Array.isArray(message['content']) ? message['content'].map(asRecord) : [];
    const added = [this.#start(message), ...blocks.flatMap((block, at) => [this.#block(block, at), this.#stopBlock(at)])];
    this.#count(message['usage']);
    added.push(this.#stop(message));
    return { events: added.flatMap(({ events }) => events), progress: true };
  }

  /** Counts are running totals. Some servers begin with zeros, some end with them. */
  #count(usage: unknown): void {
    const counts = { ...asRecord(asRecord(usage)['output_tokens_details']), ...asRecord(usage) };
    for (const name of COUNTS) {
      const value = count(counts[`${name}_tokens`]);
      if (value !== undefined && (value > 0 || !this.#counts.has(name))) this.#counts.set(name, value);
    }
  }

  /** `input_tokens` is the uncached rest; what went into the cache or came from it is input as well. */
  #usage(): Usage {
    const of = (name: (typeof COUNTS)[number]): number => this.#counts.get(name) ?? 0;
    const read = of('cache_read_input');
    const written = of('cache_creation_input');
    const counts = { tokensIn: of('input') + written + read, tokensOut: of('output') };
    return usageOf(counts, { cached: read, written, reasoning: this.#counts.get('thinking') });
  }
}

/** https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons; other servers have more. */
function toFinish({ stop_reason: reason, stop_details: details }: Fields): Piece['finish'] {
  if (reason === undefined || reason === null) return undefined;
  const word = stringOf(reason);
  if (/^(?:end_turn|tool_use|stop_sequence|stop|tool_calls)$/.test(word)) return 'stop';
  // With pause_turn the model wants to go on.
  if (/^(?:max_tokens|model_context_window_exceeded|length|pause_turn)$/.test(word)) return 'length';
  const { category } = asRecord(details);
  const said = `stop_reason ${quote(word)}${typeof category === 'string' ? `, category ${quote(category)}` : ''}`;
  // The same conversation is refused again.
  throw new WireFault(
    word === 'refusal' || word === 'sensitive'
      ? createFailure('content-filter', { message: `the model refused (${said})`, retryable: false })
      : createFailure('malformed', { message: `the answer ended badly (${said})` }),
  );
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
