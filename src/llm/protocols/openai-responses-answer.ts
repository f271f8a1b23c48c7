/** From the events of an OpenAI Responses stream to pieces of an answer. */
import type { Json } from '../../core/message.ts';
import type { ModelEvent, Usage } from '../../core/model.ts';
import { type Added, AnswerAssembly, NOTHING, type Piece, THINKING } from './answer-assembly.ts';
import { AnsweredError } from './http-failure.ts';
import { asRecord } from './tool-call-assembly.ts';
import { count, reportedCost, usageOf } from './usage-count.ts';
import type { Assembly } from './wire.ts';

type Parsed = Readonly<Record<string, unknown>>;

export class ResponsesAssembly extends AnswerAssembly implements Assembly {
  /** Output items of which something has arrived by deltas: what repeats them in full is skipped. */
  readonly #streamed = new Set<number>();
  /** Whole items by their place: what goes back with the next request. */
  readonly #items = new Map<number, Json>();
  /** Places of the calls that were begun, by their ids. */
  readonly #calls = new Map<unknown, number>();
  #reasoned = false;

  override add(raw: unknown): Added {
    const event = asRecord(raw);
    const added = this.#read(event);
    if (added.progress) return added;
    const isThought = asRecord(event['item'])['type'] === 'reasoning' || /^response\.reasoning/.test(String(event['type']));
    return isThought ? THINKING : added;
  }

  #read(event: Parsed): Added {
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
      case 'response.function_call_arguments.done':
        // Some servers send them in no other way.
        return this.#streamed.has(index) ? NOTHING : this.#delta(index, { calls: [{ index, arguments: event['arguments'] }] });
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
    const reasoning = items.map(asRecord).filter(({ type }) => type === 'reasoning');
    // One with neither would be looked for at the server, which keeps nothing.
    const told = reasoning.every(({ encrypted_content: secret, content }) => secret || content);
    return super.end(reasoning.length > 0 && told ? { items } : undefined);
  }

  #delta(index: number, piece: Piece): Added {
    this.#streamed.add(index);
    return super.add(piece);
  }

  #call(index: number, item: Parsed, text: unknown): Added {
    if (item['type'] !== 'function_call') return NOTHING;
    this.#calls.set(item['call_id'], index);
    return super.add({ calls: [{ index, id: item['call_id'], name: item['name'], arguments: text }] });
  }

  /** An item in full; its content counts where the server did not stream it. */
  #whole(index: number, item: Parsed): Added {
    if (item['type'] !== undefined) this.#items.set(index, item as { readonly [key: string]: Json });
    if (this.#streamed.has(index)) return NOTHING;
    this.#streamed.add(index);
    if (item['type'] === 'function_call') return this.#call(index, item, item['arguments']);
    const all = (list: unknown, key: string): string =>
      (Array.isArray(list) ? list : []).map((part) => asRecord(part)[key] ?? '').join('');
    const { type, summary, content } = item;
    if (type === 'reasoning') return super.add({ reasoning: all(summary, 'text') || all(content, 'text') });
    return super.add({ text: all(content, 'text'), refusal: all(content, 'refusal') });
  }

  #ended(response: Parsed): Added {
    const { status, error, model } = response;
    const usage = toUsage(asRecord(response['usage']));
    if (usage) super.add({ usage });
    if (status === 'failed' || status === 'cancelled') {
      throw new AnsweredError(undefined, error ?? { message: `the response is ${status}` });
    }
    const output = Array.isArray(response['output']) ? response['output'].map(asRecord) : [];
    // What was streamed is known by its place, which the final list need not keep: of that only calls may be
    // missing here.
    const streamed = this.#streamed.size > 0;
    const begun = new Map(this.#calls);
    const events = output.flatMap((item, at) => {
      const place = begun.get(item['call_id']);
      // A proxy may give a call another id here: it would run twice.
      if (streamed && (item['type'] !== 'function_call' || (begun.size > 0 && place === undefined))) return [];
      return this.#whole(place ?? (streamed ? 1_000 + at : at), item).events;
    });
    this.#fillIn(output);
    super.add({ finish: finishOf(response), ...(typeof model === 'string' ? { model } : {}) });
    return { events, progress: true };
  }

  /** Azure gives the encrypted reasoning only with the final list. */
  #fillIn(output: readonly Parsed[]): void {
    const encrypted = new Map(output.filter((item) => item['encrypted_content']).map((item) => [item['id'], item]));
    encrypted.delete(undefined);
    for (const [index, item] of this.#items) {
      const full = encrypted.get(asRecord(item)['id']);
      if (full) this.#items.set(index, full as { readonly [key: string]: Json });
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
  const reasoning = count(asRecord(usage['output_tokens_details'])['reasoning_tokens']);
  const told = { cached: count(input['cached_tokens']), written: count(input['cache_write_tokens']) };
  return usageOf({ tokensIn, tokensOut }, { ...told, reasoning, costUsd: reportedCost(usage) });
}
