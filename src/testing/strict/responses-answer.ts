/**
 * An answer of OpenAI Responses as events
 * (https://platform.openai.com/docs/api-reference/responses-streaming).
 */
import { halves, type Json } from './json-shapes.ts';
import type { Memory } from './memory.ts';
import { responsesModel } from './responses-models.ts';
import { reasoningOf, remember } from './responses-shapes.ts';
import { type CountedTurn, type StrictRequest, sse } from './strict-server.ts';

/** Writes events with the running number that each of them carries. */
class EventWriter {
  readonly events: string[] = [];

  write(type: string, data: object): void {
    this.events.push(sse({ type, sequence_number: this.events.length, ...data }, type));
  }
}

export function responsesEvents(turn: CountedTurn, request: StrictRequest, memory: Memory): readonly string[] {
  const writer = new EventWriter();
  const base = {
    id: memory.nextId('resp_', 48),
    object: 'response',
    created_at: 1_780_000_000,
    model: turn.servedModel ?? request.body['model'],
    store: request.body['store'] ?? true,
    error: null,
    incomplete_details: null,
    usage: null,
  };
  writer.write('response.created', { response: { ...base, status: 'in_progress', output: [] } });
  writer.write('response.in_progress', { response: { ...base, status: 'in_progress', output: [] } });
  const output = outputItems(turn, request, memory, base.id);
  for (const [index, item] of output.entries()) writeItem(item, index, writer);
  if (turn.error) {
    const error = { code: 'server_error', message: turn.error.message };
    writer.write('response.failed', { response: { ...base, status: 'failed', error, output } });
    return writer.events;
  }
  const { status, reason } = ending(turn);
  const details = reason === undefined ? {} : { incomplete_details: { reason } };
  writer.write(`response.${status}`, { response: { ...base, status, ...details, output, usage: usageOf(turn) } });
  return writer.events;
}

function ending({ stop, finish }: CountedTurn): { readonly status: 'completed' | 'incomplete'; readonly reason?: string } {
  if (finish !== undefined) return { status: 'incomplete', reason: finish };
  if (stop === 'length') return { status: 'incomplete', reason: 'max_output_tokens' };
  if (stop === 'filtered') return { status: 'incomplete', reason: 'content_filter' };
  return { status: 'completed' };
}

function usageOf({ usage: { in: input, out, cached = 0, cacheWrite = 0, reasoning = 0 } }: CountedTurn): object {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite },
    output_tokens: out,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + out,
  };
}

/** The items in full; each is remembered with what it belongs to. */
function outputItems(turn: CountedTurn, request: StrictRequest, memory: Memory, answer: string): readonly Json[] {
  const items: Json[] = [];
  const { model } = request.body;
  const rules = responsesModel(model);
  let reasoning: string | undefined;
  const add = (item: Json): void => {
    items.push(item);
    remember({ answer, model, item, reasoning: item['type'] === 'reasoning' ? undefined : reasoning }, memory);
  };
  if (turn.reasoning && reasons(request)) {
    reasoning = memory.nextId('rs_', 48);
    const asked = reasoningOf(request)['summary'];
    const summary = asked === undefined || asked === null ? [] : [{ type: 'summary_text', text: turn.reasoning }];
    add({ id: reasoning, type: 'reasoning', summary, encrypted_content: `${memory.nextId('gAAAAAB', 60)}==` });
  }
  const calls = turn.calls ?? [];
  if (turn.text) {
    const part =
      turn.stop === 'refusal'
        ? { type: 'refusal', refusal: turn.text }
        : { type: 'output_text', text: turn.text, annotations: [], logprobs: [] };
    const phase = rules.phases ? { phase: calls.length > 0 ? 'commentary' : 'final_answer' } : {};
    add({ id: memory.nextId('msg_', 48), type: 'message', status: 'completed', role: 'assistant', ...phase, content: [part] });
  }
  for (const [nth, { name, args }] of calls.entries()) {
    // An answer cut by its length ends within the arguments of its last call.
    const cut = turn.stop === 'length' && nth + 1 === calls.length;
    const text = JSON.stringify(args);
    const written = cut ? { arguments: halves(text)[0], status: 'incomplete' } : { arguments: text, status: 'completed' };
    add({ id: memory.nextId('fc_', 48), type: 'function_call', call_id: memory.nextId('call_'), name, ...written });
  }
  return items;
}

export function reasons(request: StrictRequest): boolean {
  const { efforts, defaultEffort } = responsesModel(request.body['model']);
  return efforts.length > 0 && (reasoningOf(request)['effort'] ?? defaultEffort) !== 'none';
}

function writeItem(item: Json, index: number, writer: EventWriter): void {
  const at = { output_index: index, item_id: item['id'] };
  const empty: Json = {
    reasoning: { summary: [], encrypted_content: '' },
    message: { content: [] },
    function_call: { arguments: '' },
  };
  const begun = { ...item, ...(empty[String(item['type'])] as object), status: 'in_progress' };
  writer.write('response.output_item.added', { output_index: index, item: begun });
  if (item['type'] === 'function_call') {
    const text = String(item['arguments']);
    for (const delta of halves(text)) writer.write('response.function_call_arguments.delta', { ...at, delta });
    // The end of a call that was cut is not announced.
    if (item['status'] === 'incomplete') return;
    writer.write('response.function_call_arguments.done', { ...at, name: item['name'], arguments: text });
  } else writeParts(item, at, writer);
  writer.write('response.output_item.done', { output_index: index, item });
}

function writeParts(item: Json, at: object, writer: EventWriter): void {
  const isMessage = item['type'] === 'message';
  const place = isMessage ? { ...at, content_index: 0 } : { ...at, summary_index: 0 };
  const [part] = (isMessage ? item['content'] : item['summary']) as { type: string; text?: string; refusal?: string }[];
  if (part === undefined) return;
  const text = part.text ?? part.refusal ?? '';
  const stage = isMessage ? 'response.content_part' : 'response.reasoning_summary_part';
  const stream = isMessage ? `response.${part.type}` : 'response.reasoning_summary_text';
  const blank = part.refusal === undefined ? { ...part, text: '' } : { ...part, refusal: '' };
  writer.write(`${stage}.added`, { ...place, part: blank });
  for (const delta of halves(text)) writer.write(`${stream}.delta`, { ...place, delta, ...(isMessage ? { logprobs: [] } : {}) });
  writer.write(`${stream}.done`, { ...place, ...(part.refusal === undefined ? { text } : { refusal: text }) });
  writer.write(`${stage}.done`, { ...place, part });
}
