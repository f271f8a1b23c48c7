/** The OpenAI chat completions wire: request -> SDK -> events. */
import { sessionHash } from '../../core/ids.ts';
import type { ModelRequest } from '../../core/model.ts';
import { type ChatHabits, chatHabits } from './chat-habits.ts';
import { toHistory } from './history.ts';
import { ChatAssembly } from './openai-chat-answer.ts';
import { createOpenAiClient, type OpenAI, takesTemperature } from './openai-client.ts';
import { toOpenAiMessages, toOpenAiTools } from './openai-messages.ts';
import { thinkingWord } from './thinking.ts';
import type { WarmableModel, WireOptions } from './wire.ts';
import { createWireModel } from './wire-model.ts';

/** `baseUrl` ends in the version, as `https://api.openai.com/v1`. `options.provider` says what it demands. */
export function createOpenAiChat(options: WireOptions): WarmableModel {
  const habits = chatHabits(options.provider, options.model);
  return createWireModel(options, {
    connect: () => createOpenAiClient(options),
    outputLimit: habits.outputLimit,
    assembly: (answer) => new ChatAssembly(answer, habits.reasoning),
    open: ({ chat }, request, signal) => chat.completions.create(requestBody(options, habits, request), { signal }).asResponse(),
  });
}

function requestBody(
  { provider, model, facts }: WireOptions,
  habits: ChatHabits,
  request: ModelRequest,
): OpenAI.Chat.ChatCompletionCreateParamsStreaming {
  const { maxOutputTokens: limit, temperature, thinking, context, tools } = request;
  const history = toHistory(request, { provider, model, vision: facts?.vision !== false });
  const messages: unknown = toOpenAiMessages(history, habits, facts?.thinking?.length !== 0);
  return {
    model,
    messages: messages as OpenAI.Chat.ChatCompletionMessageParam[],
    stream: true,
    ...(habits.asksForUsage ? { stream_options: { include_usage: true } } : {}),
    ...(tools.length === 0 ? {} : { tools: toOpenAiTools(tools) }),
    ...(limit === undefined ? {} : { [habits.maxTokens]: limit }),
    ...(temperature === undefined || !takesTemperature(provider, model) ? {} : { temperature }),
    ...effort(thinkingWord(thinking, facts?.thinking), habits),
    // The name of the conversation itself is the operator's business.
    ...(habits.cacheKey ? { prompt_cache_key: sessionHash(context.session) } : {}),
    ...(habits.cacheControl && /^~?anthropic\//.test(model) ? { cache_control: { type: 'ephemeral' } } : {}),
  };
}

function effort(word: string | undefined, habits: ChatHabits): object {
  if (word === undefined) return {};
  if (habits.effort === 'object') return { reasoning: { effort: word === 'off' ? 'none' : word } };
  if (habits.effort === 'switch' && (word === 'off' || word === 'none')) return { thinking: { type: 'disabled' } };
  return { reasoning_effort: word === 'off' ? 'none' : word };
}
