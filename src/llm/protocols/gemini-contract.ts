import type { Image, ImageType } from '../../core/model.ts';
import type { ToolCall } from '../../core/session.ts';
import { sse } from '../../testing/model-server.ts';
import { createGemini } from './gemini.ts';
import type { GeminiContent } from './gemini-contents.ts';
import type { WireSubject } from './wire-contract.ts';

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

/** The Gemini wire for `wireContract`. */
export const geminiSubject: WireSubject = {
  name: 'gemini',
  create: (options) => createGemini({ ...options, baseUrl: `${options.baseUrl}/v1beta` }),
  model: 'gemini-2.0-flash',
  reasoningModel: 'gemini-2.5-flash',
  imagesIn: (body) =>
    (body['contents'] as GeminiContent[])
      .flatMap(({ parts }) => parts)
      .flatMap(({ inlineData }): Image[] =>
        inlineData ? [{ mime: inlineData.mimeType as ImageType, base64: inlineData.data ?? '' }] : [],
      ),
  argumentsAreObjects: true,
  raw: {
    open: '',
    text: (piece) => geminiChunk([{ text: piece }]),
    calls: geminiCalls,
    close: () => geminiEnd(),
    overloaded: (message) => sse(geminiError(503, 'UNAVAILABLE', message)),
    thought: (text) => geminiChunk([{ text, thought: true }]),
    refusal: sse({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 7 } }),
  },
};
