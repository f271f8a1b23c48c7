/** The OpenAI chat completions wire: request -> SDK stream -> events. */
import type { ModelRequest } from '../../core/model.ts';
import { AnswerAssembly } from './openai-answer.ts';
import { createOpenAiClient, type OpenAI, takesTemperature } from './openai-client.ts';
import { toOpenAiMessages, toOpenAiTools } from './openai-messages.ts';
import { callWire, type WarmableModel, type WireOptions } from './wire.ts';

/** `baseUrl` holds the version segment: `https://api.openai.com/v1`. */
export interface OpenAiChatOptions extends WireOptions {
  /** Name of the output limit: OpenAI's own models want `max_completion_tokens`, everybody else knows `max_tokens`. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens';
  /** Send the reasoning of the present turn back (Kimi, DeepSeek). */
  readonly sendReasoning?: boolean;
}

/** Connects nothing and loads nothing until the first call or `warm`. Retries nothing: see `withRetry`. */
export function createOpenAiChat(options: OpenAiChatOptions): WarmableModel {
  let loading: Promise<OpenAI> | undefined;
  const client = (): Promise<OpenAI> => {
    loading ??= createOpenAiClient(options);
    return loading;
  };
  return {
    id: `${options.provider}/${options.model}`,
    contextWindow: options.contextWindow,
    ...(options.facts ? { facts: options.facts } : {}),
    call: (request, signal) =>
      callWire(options, request, signal, {
        assembly: (inputTokens) => new AnswerAssembly({ provider: options.provider, model: options.model, inputTokens }),
        open: async (until) => await (await client()).chat.completions.create(requestBody(options, request), { signal: until }),
      }),
    async warm() {
      await client();
    },
  };
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
