/** From the events of an OpenAI Responses stream to the chunks of the one assembly that knows the rules for answers. */
import type { ModelEvent, Usage } from '../../core/model.ts';
import { type Added, AnswerAssembly, type AnswerOptions, type Piece } from './answer-assembly.ts';
import { AnsweredError } from './http-failure.ts';
import { asRecord } from './tool-call-assembly.ts';
import { count } from './usage-count.ts';
import type { Assembly } from './wire.ts';

type Parsed = Readonly<Record<string, unknown>>;

const NOTHING: Added = { events: [], progress: false };

export class ResponsesAssembly implements Assembly {
  readonly #answer: AnswerAssembly;
  /** Output items of which something has arrived by deltas: what repeats them in full is skipped. */
  readonly #streamed = new Set<number>();
  #reasoned = false;

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
    const event = asRecord(raw);
    const index = typeof event['output_index'] === 'number' ? event['output_index'] : 0;
    const piece = typeof event['delta'] === 'string' ? event['delta'] : '';
    switch (event['type']) {
      case 'response.output_text.delta':
        this.#streamed.add(index);
        return this.#answer.add({ text: piece });
      case 'response.refusal.delta':
        this.#streamed.add(index);
        return this.#answer.add({ refusal: piece });
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        this.#streamed.add(index);
        this.#reasoned = true;
        return this.#answer.add({ reasoning: piece });
      case 'response.reasoning_summary_part.added':
        // Parts of a summary are paragraphs.
        return this.#reasoned ? this.#answer.add({ reasoning: '\n\n' }) : NOTHING;
      case 'response.output_item.added':
        return this.#call(index, asRecord(event['item']), '');
      case 'response.function_call_arguments.delta':
        this.#streamed.add(index);
        return this.#answer.add({ calls: [{ index, arguments: piece }] });
      case 'response.output_item.done':
        return this.#whole(index, asRecord(event['item']));
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return this.#ended(asRecord(event['response']));
      case 'error':
        throw new AnsweredError(undefined, event);
      default:
        // The whole response in place of a stream, or an event that says nothing of the answer.
        return event['object'] === 'response' ? this.#ended(event) : NOTHING;
    }
  }

  end(): readonly ModelEvent[] {
    return this.#answer.end();
  }

  #call(index: number, item: Parsed, text: unknown): Added {
    if (item['type'] !== 'function_call') return NOTHING;
    return this.#answer.add({ calls: [{ index, id: item['call_id'], name: item['name'], arguments: text }] });
  }

  /** An item in full, from a server that did not stream it. */
  #whole(index: number, item: Parsed): Added {
    if (this.#streamed.has(index)) return NOTHING;
    this.#streamed.add(index);
    if (item['type'] === 'function_call') return this.#call(index, item, item['arguments']);
    const parts = (key: string): Parsed[] => (Array.isArray(item[key]) ? item[key].map(asRecord) : []);
    const joined = (list: readonly Parsed[], key: string): string => list.map((part) => part[key] ?? '').join('');
    if (item['type'] === 'reasoning') {
      return this.#answer.add({ reasoning: joined(parts('summary'), 'text') || joined(parts('content'), 'text') });
    }
    const content = parts('content');
    return this.#answer.add({ text: joined(content, 'text'), refusal: joined(content, 'refusal') });
  }

  #ended(response: Parsed): Added {
    if (response['status'] === 'failed' || response['status'] === 'cancelled') {
      throw new AnsweredError(undefined, response['error']);
    }
    const output = Array.isArray(response['output']) ? response['output'].map(asRecord) : [];
    const events = output.flatMap((item, index) => this.#whole(index, item).events);
    const usage = toUsage(asRecord(response['usage']));
    const last = this.#answer.add({ finish: finishOf(response), ...(usage ? { usage } : {}) });
    return { events: [...events, ...last.events], progress: true };
  }
}

function finishOf(response: Parsed): NonNullable<Piece['finish']> {
  if (response['status'] !== 'incomplete') return 'stop';
  return asRecord(response['incomplete_details'])['reason'] === 'content_filter' ? 'filtered' : 'length';
}

function toUsage(usage: Parsed): Usage | undefined {
  const tokensIn = count(usage['input_tokens']);
  const tokensOut = count(usage['output_tokens']);
  if (tokensIn === undefined || tokensOut === undefined) return undefined;
  const input = asRecord(usage['input_tokens_details']);
  const written = count(input['cache_write_tokens']);
  const reasoning = count(asRecord(usage['output_tokens_details'])['reasoning_tokens']);
  return {
    tokensIn,
    tokensOut,
    tokensCached: count(input['cached_tokens']) ?? 0,
    ...(written ? { tokensCacheWrite: written } : {}),
    ...(reasoning === undefined ? {} : { tokensReasoning: reasoning }),
  };
}
