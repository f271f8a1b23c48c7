import type { ToolCall } from '../../core/session.ts';
import { sse } from '../../testing/model-server.ts';
import { fromDataUri } from './openai-chat-contract.ts';
import { createOpenAiResponses } from './openai-responses.ts';
import { asRecord } from './tool-call-assembly.ts';
import type { WireSubject } from './wire-contract.ts';

/** One event of a Responses stream, named as the API names it. */
export function responsesEvent(type: string, rest: object = {}): string {
  return `event: ${type}\n${sse({ type, ...rest })}`;
}

const USAGE = { input_tokens: 7, input_tokens_details: { cached_tokens: 0 }, output_tokens: 5, total_tokens: 12 };

export const responsesOpen = responsesEvent('response.created', { response: { object: 'response', status: 'in_progress' } });

export function responsesText(delta: string, outputIndex = 0): string {
  return responsesEvent('response.output_text.delta', { output_index: outputIndex, content_index: 0, delta });
}

/** Calls whose arguments come in two pieces each, from output item 1 on. */
export function responsesCalls(calls: readonly ToolCall[]): string {
  return calls
    .map(({ id, name, arguments: text }, index) => {
      const half = Math.floor(text.length / 2);
      const at = { output_index: index + 1 };
      const item = { type: 'function_call', id: `fc_${id}`, call_id: id, name };
      const deltas = [text.slice(0, half), text.slice(half)].map((delta) =>
        responsesEvent('response.function_call_arguments.delta', { ...at, item_id: item.id, delta }),
      );
      return [
        responsesEvent('response.output_item.added', { ...at, item: { ...item, arguments: '' } }),
        ...deltas,
        responsesEvent('response.function_call_arguments.done', { ...at, item_id: item.id, arguments: text }),
        responsesEvent('response.output_item.done', { ...at, item: { ...item, arguments: text } }),
      ].join('');
    })
    .join('');
}

export function responsesEnd(response: object = {}): string {
  const { status = 'completed' } = response as { status?: string };
  return responsesEvent(`response.${status}`, {
    response: { object: 'response', status, output: [], usage: USAGE, ...response },
  });
}

/** The OpenAI Responses wire for `wireContract`. */
export const openAiResponsesSubject: WireSubject = {
  name: 'openai-responses',
  create: (options) => createOpenAiResponses({ ...options, baseUrl: `${options.baseUrl}/v1` }),
  model: 'gpt-4o',
  reasoningModel: 'o3',
  imagesIn: (body) =>
    (body['input'] as { content?: unknown }[])
      .flatMap(({ content }) => (Array.isArray(content) ? content.map(asRecord) : []))
      .filter((part) => part['type'] === 'input_image')
      .map((part) => fromDataUri(String(part['image_url']))),
  raw: {
    open: responsesOpen,
    text: (piece) => responsesText(piece),
    calls: responsesCalls,
    close: () => responsesEnd(),
    overloaded: (message) => responsesEvent('error', { code: 'overloaded_error', message }),
    thought: (delta) => responsesEvent('response.reasoning_summary_text.delta', { output_index: 0, summary_index: 0, delta }),
    refusal:
      responsesOpen +
      responsesEvent('response.refusal.delta', { output_index: 0, content_index: 0, delta: 'I will not.' }) +
      responsesEnd(),
  },
};
