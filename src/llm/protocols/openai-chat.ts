/** The OpenAI chat completions wire: request -> SDK stream -> events. */
import type { ModelRequest } from '../../core/model.ts';
import { ChatAssembly } from './openai-chat-answer.ts';
import { createOpenAiClient, type OpenAI, takesTemperature } from './openai-client.ts';
import { toOpenAiMessages, toOpenAiTools } from './openai-messages.ts';
import type { WarmableModel, WireOptions } from './wire.ts';
import { createWireModel } from './wire-model.ts';

/** `baseUrl` holds the version segment: `https://api.openai.com/v1`. */
export interface OpenAiChatOptions extends WireOptions {
  /** Name of the output limit: OpenAI's own models want `max_completion_tokens`, everybody else knows `max_tokens`. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens';
  /** Send the reasoning of the present turn back (Kimi, DeepSeek). */
  readonly sendReasoning?: boolean;
}

export function createOpenAiChat(options: OpenAiChatOptions): WarmableModel {
  return createWireModel(options, {
    connect: () => createOpenAiClient(options),
    assembly: (answer) => new ChatAssembly(answer),
    open: ({ chat }, request, signal) => chat.completions.create(requestBody(options, request), { signal }),
  });
}

function requestBody(options: OpenAiChatOptions, request: ModelRequest): OpenAI.Chat.ChatCompletionCreateParamsStreaming {
  const limit = request.maxOutputTokens;
  const field = options.maxTokensField ?? 'max_tokens';
  return {
    model: options.model,
    messages: toOpenAiMessages(request, {
      sendReasoning: options.sendReasoning ?? false,
      vision: options.facts?.vision !== false,
    }),
    stream: true,
    stream_options: { include_usage: true },
    ...(request.tools.length === 0 ? {} : { tools: toOpenAiTools(request.tools) }),
    ...(limit === undefined ? {} : { [field]: limit }),
    ...(request.temperature === undefined || !takesTemperature(options.model) ? {} : { temperature: request.temperature }),
  };
}
