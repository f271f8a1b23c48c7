/** From the events of an OpenAI Responses stream to the chunks of the one assembly that knows the rules for answers. */
import type { ModelEvent } from '../../core/model.ts';
import { AnsweredError } from './http-failure.ts';
import { AnswerAssembly, type AnswerOptions } from './openai-answer.ts';
import { asRecord } from './tool-call-assembly.ts';
import type { Assembly } from './wire.ts';

type Parsed = Readonly<Record<string, unknown>>;
type Added = { readonly events: readonly ModelEvent[]; readonly progress: boolean };

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

  add(raw: unknown): Added {
    const event = asRecord(raw);
    const index = typeof event['output_index'] === 'number' ? event['output_index'] : 0;
    const piece = typeof event['delta'] === 'string' ? event['delta'] : '';
    switch (event['type']) {
      case 'response.output_text.delta':
        this.#streamed.add(index);
        return this.#delta({ content: piece });
      case 'response.refusal.delta':
        this.#streamed.add(index);
        this.#delta({ refusal: piece });
        return { events: [], progress: piece !== '' };
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        this.#streamed.add(index);
        this.#reasoned = true;
        return this.#delta({ reasoning_content: piece });
      case 'response.reasoning_summary_part.added':
        // Parts of a summary are paragraphs.
        return this.#reasoned ? this.#delta({ reasoning_content: '\n\n' }) : NOTHING;
      case 'response.output_item.added':
        return this.#call(index, asRecord(event['item']), '');
      case 'response.function_call_arguments.delta':
        this.#streamed.add(index);
        return this.#delta({ tool_calls: [{ index, function: { arguments: piece } }] });
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

  #delta(delta: object): Added {
    return this.#answer.add({ choices: [{ delta }] });
  }

  #call(index: number, item: Parsed, text: unknown): Added {
    if (item['type'] !== 'function_call') return NOTHING;
    const call = { index, id: item['call_id'], function: { name: item['name'], arguments: text } };
    return this.#delta({ tool_calls: [call] });
  }

  /** An item in full, from a server that did not stream it. */
  #whole(index: number, item: Parsed): Added {
    if (this.#streamed.has(index)) return NOTHING;
    this.#streamed.add(index);
    if (item['type'] === 'function_call') return this.#call(index, item, item['arguments']);
    const parts = (key: string): Parsed[] => (Array.isArray(item[key]) ? item[key].map(asRecord) : []);
    const joined = (list: readonly Parsed[], key: string): string => list.map((part) => part[key] ?? '').join('');
    if (item['type'] === 'reasoning') {
      return this.#delta({ reasoning_content: joined(parts('summary'), 'text') || joined(parts('content'), 'text') });
    }
    const content = parts('content');
    return this.#delta({ content: joined(content, 'text'), refusal: joined(content, 'refusal') });
  }

  #ended(response: Parsed): Added {
    if (response['status'] === 'failed' || response['status'] === 'cancelled') {
      throw new AnsweredError(undefined, response['error']);
    }
    const output = Array.isArray(response['output']) ? response['output'].map(asRecord) : [];
    const events = output.flatMap((item, index) => this.#whole(index, item).events);
    const last = this.#answer.add({
      choices: [{ delta: {}, finish_reason: finishReason(response) }],
      ...toUsage(asRecord(response['usage'])),
    });
    return { events: [...events, ...last.events], progress: true };
  }
}

function finishReason(response: Parsed): string {
  if (response['status'] !== 'incomplete') return 'stop';
  const { reason } = asRecord(response['incomplete_details']);
  return reason === 'content_filter' ? 'content_filter' : 'length';
}

function toUsage(usage: Parsed): object {
  if (usage['input_tokens'] === undefined) return {};
  return {
    usage: {
      prompt_tokens: usage['input_tokens'],
      completion_tokens: usage['output_tokens'],
      prompt_tokens_details: usage['input_tokens_details'],
    },
  };
}
