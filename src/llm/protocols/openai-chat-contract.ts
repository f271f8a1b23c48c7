import type { Image, ImageType } from '../../core/model.ts';
import { chunk, sse } from '../../testing/model-server.ts';
import { createOpenAiChat } from './openai-chat.ts';
import { asRecord } from './tool-call-assembly.ts';
import type { WireSubject } from './wire-contract.ts';

/** The OpenAI chat wire for `wireContract`. */
export const openAiChatSubject: WireSubject = {
  name: 'openai-chat',
  create: (options) => createOpenAiChat({ ...options, baseUrl: `${options.baseUrl}/v1` }),
  model: 'gpt-4o',
  reasoningModel: 'deepseek-reasoner',
  imagesIn: (body) =>
    (body['messages'] as { content: unknown }[])
      .flatMap(({ content }) => (Array.isArray(content) ? content.map(asRecord) : []))
      .filter((part) => part['type'] === 'image_url')
      .map((part) => fromDataUri(String(asRecord(part['image_url'])['url']))),
  raw: {
    open: chunk({ role: 'assistant', content: '' }),
    text: (content) => chunk({ content }),
    calls: (calls) =>
      calls
        .map(({ id, name, arguments: text }, index) => {
          const half = Math.floor(text.length / 2);
          const begin = { index, id, type: 'function', function: { name, arguments: text.slice(0, half) } };
          const rest = { index, function: { arguments: text.slice(half) } };
          return chunk({ tool_calls: [begin] }) + chunk({ tool_calls: [rest] });
        })
        .join(''),
    close: (tools) =>
      chunk({}, tools ? 'tool_calls' : 'stop') +
      sse({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 } }) +
      sse('[DONE]'),
    overloaded: (message) => sse({ error: { code: 'overloaded_error', message } }),
    thought: (piece) => chunk({ reasoning_content: piece }),
    refusal: chunk({ role: 'assistant', refusal: 'I will not.' }) + chunk({}, 'stop') + sse('[DONE]'),
  },
};

export function fromDataUri(uri: string): Image {
  const [, mime = '', base64 = ''] = /^data:([^;]+);base64,(.*)$/.exec(uri) ?? [];
  return { mime: mime as ImageType, base64 };
}
