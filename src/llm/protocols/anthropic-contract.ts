import type { Image, ImageType } from '../../core/model.ts';
import { createAnthropic } from './anthropic.ts';
import { asRecord } from './tool-call-assembly.ts';
import type { WireSubject } from './wire-contract.ts';

/** One event of an Anthropic stream. */
export function anthropicEvent(type: string, data: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

export function anthropicStart(usage: object = { input_tokens: 7, output_tokens: 1 }): string {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'test', content: [], stop_reason: null, usage };
  return anthropicEvent('message_start', { message });
}

/** A content block: its start, the deltas, its end. */
export function anthropicBlock(index: number, block: object, ...deltas: readonly object[]): string {
  return [
    anthropicEvent('content_block_start', { index, content_block: block }),
    ...deltas.map((delta) => anthropicEvent('content_block_delta', { index, delta })),
    anthropicEvent('content_block_stop', { index }),
  ].join('');
}

export function anthropicText(text: string, index = 0): string {
  return anthropicBlock(index, { type: 'text', text: '' }, { type: 'text_delta', text });
}

export function anthropicEnd(stopReason = 'end_turn', usage: object = { output_tokens: 5 }): string {
  const delta = { stop_reason: stopReason, stop_sequence: null };
  return anthropicEvent('message_delta', { delta, usage }) + anthropicEvent('message_stop');
}

export function anthropicError(type: string, message: string): string {
  return anthropicEvent('error', { error: { type, message } });
}

/** The Anthropic wire for `wireContract`. */
export const anthropicSubject: WireSubject = {
  name: 'anthropic',
  create: createAnthropic,
  model: 'claude-3-5-haiku-20241022',
  reasoningModel: 'claude-sonnet-4-20250514',
  imagesIn: (body) =>
    (body['messages'] as { content: unknown }[])
      .flatMap(({ content }) => (Array.isArray(content) ? content.map(asRecord) : []))
      .filter(({ type }) => type === 'image')
      .map(({ source }): Image => {
        const { media_type: mime, data } = asRecord(source);
        return { mime: mime as ImageType, base64: String(data) };
      }),
  raw: {
    open: anthropicStart() + anthropicEvent('ping'),
    text: anthropicText,
    calls: (calls) =>
      calls
        .map(({ id, name, arguments: text }, index) => {
          const half = Math.floor(text.length / 2);
          const deltas = [text.slice(0, half), text.slice(half)].map((json) => ({
            type: 'input_json_delta',
            partial_json: json,
          }));
          return anthropicBlock(index, { type: 'tool_use', id, name, input: {} }, ...deltas);
        })
        .join(''),
    close: (tools) => anthropicEnd(tools ? 'tool_use' : 'end_turn'),
    overloaded: (message) => anthropicError('overloaded_error', message),
    thought: (thinking) => anthropicBlock(0, { type: 'thinking', thinking: '' }, { type: 'thinking_delta', thinking }),
    refusal: anthropicStart() + anthropicEnd('refusal'),
  },
};
