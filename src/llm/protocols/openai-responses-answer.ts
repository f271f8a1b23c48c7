/** From the events of an OpenAI Responses stream to pieces of an answer. */
import type { Json } from '../../core/message.ts';
import type { ModelEvent, Usage } from '../../core/model.ts';
import { type Added, AnswerAssembly, type Piece } from './answer-assembly.ts';
import { AnsweredError } from './http-failure.ts';
import { asRecord } from './tool-call-assembly.ts';
import { count, reportedCost } from './usage-count.ts';
import type { Assembly } from './wire.ts';

type Parsed = Readonly<Record<string, unknown>>;

const NOTHING: Added = { events: [], progress: false };

export class ResponsesAssembly extends AnswerAssembly implements Assembly {
  /** Output items of which something has arrived by deltas: what repeats them in full is skipped. */
  readonly #streamed = new Set<number>();
  /** Whole items by their place: what goes back with the next request. */
  readonly #items = new Map<number, Json>();
  #reasoned = false;

  override add(raw: unknown): Added {
    const event = asRecord(raw);
    const index = typeof event['output_index'] === 'number' ? event['output_index'] : 0;
    const piece = typeof event['delta'] === 'string' ? event['delta'] : '';
    switch (event['type']) {
      case 'response.output_text.delta':
        return this.#delta(index, { text: piece });
      case 'response.refusal.delta':
        return this.#delta(index, { refusal: piece });
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        this.#reasoned = true;
        return this.#delta(index, { reasoning: piece });
      case 'response.reasoning_summary_part.added':
        // Parts of a summary are paragraphs.
        return this.#reasoned ? super.add({ reasoning: '\n\n' }) : NOTHING;
      case 'response.output_item.added':
        return this.#call(index, asRecord(event['item']), '');
      case 'response.function_call_arguments.delta':
        return this.#delta(index, { calls: [{ index, arguments: piece }] });
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

  override end(): readonly ModelEvent[] {
    const items = [...this.#items].toSorted(([a], [b]) => a - b).map(([, item]) => item);
    // Without reasoning an answer is as well told by its text and calls, which any model takes.
    const reasons = items.some((item) => asRecord(item)['type'] === 'reasoning');
    return super.end(reasons ? { items } : undefined);
  }

  #delta(index: number, piece: Piece): Added {
    this.#streamed.add(index);
    return super.add(piece);
  }

  #call(index: number, item: Parsed, text: unknown): Added {
    if (item['type'] !== 'function_call') return NOTHING;
    return super.add({ calls: [{ index, id: item['call_id'], name: item['name'], arguments: text }] });
  }

  /** An item in full; its content counts where the server did not stream it. */
  #whole(index: number, item: Parsed): Added {
    if (item['type'] !== undefined) this.#items.set(index, item as { readonly [key: string]: Json });
    if (this.#streamed.has(index)) return NOTHING;
    this.#streamed.add(index);
    if (item['type'] === 'function_call') return this.#call(index, item, item['arguments']);
    const parts = (key: string): Parsed[] => (Array.isArray(item[key]) ? item[key].map(asRecord) : []);
    const joined = (list: readonly Parsed[], key: string): string => list.map((part) => part[key] ?? '').join('');
    if (item['type'] === 'reasoning') {
      return super.add({ reasoning: joined(parts('summary'), 'text') || joined(parts('content'), 'text') });
    }
    const content = parts('content');
    return super.add({ text: joined(content, 'text'), refusal: joined(content, 'refusal') });
  }

  #ended(response: Parsed): Added {
    if (response['status'] === 'failed' || response['status'] === 'cancelled') {
      throw new AnsweredError(undefined, response['error']);
    }
    const output = Array.isArray(response['output']) ? response['output'].map(asRecord) : [];
    // Items that were streamed are known by their place, which the final list need not keep.
    const events = this.#streamed.size > 0 ? [] : output.flatMap((item, index) => this.#whole(index, item).events);
    this.#fillIn(output);
    const usage = toUsage(asRecord(response['usage']));
    const { model } = response;
    const last = super.add({
      finish: finishOf(response),
      ...(usage ? { usage } : {}),
      ...(typeof model === 'string' ? { model } : {}),
    });
    return { events: [...events, ...last.events], progress: true };
  }

  /** Azure gives the encrypted reasoning only with the final list. */
  #fillIn(output: readonly Parsed[]): void {
    for (const [index, item] of this.#items) {
      const { id, encrypted_content: known } = asRecord(item);
      const full = known ? undefined : output.find((other) => other['id'] === id && other['encrypted_content']);
      if (full && id !== undefined) this.#items.set(index, full as { readonly [key: string]: Json });
    }
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
    ...reportedCost(usage),
  };
}
