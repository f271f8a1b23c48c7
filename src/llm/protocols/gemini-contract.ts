import type { ToolCall } from '../../core/session.ts';
import { sse } from '../../testing/model-server.ts';

/** One chunk of a Gemini stream; the API ends its lines with CR LF. */
export function geminiChunk(parts: readonly object[], rest: object = {}, candidate: object = {}): string {
  return sse({ candidates: [{ content: { role: 'model', parts }, index: 0, ...candidate }], ...rest }).replaceAll('\n', '\r\n');
}

/** The last chunk of an answer. */
export function geminiEnd(finishReason = 'STOP', usage: object = { promptTokenCount: 7, candidatesTokenCount: 5 }): string {
  return geminiChunk([], { usageMetadata: usage, modelVersion: 'test' }, { finishReason });
}

export function geminiCalls(calls: readonly Pick<ToolCall, 'name' | 'arguments'>[]): string {
  return geminiChunk(calls.map(({ name, arguments: text }) => ({ functionCall: { name, args: JSON.parse(text) } })));
}

/** An error body, also in the middle of a stream. */
export function geminiError(code: number, status: string, message: string, details: readonly object[] = []): object {
  return { error: { code, message, status, details } };
}
