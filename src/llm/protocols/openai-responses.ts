/** The OpenAI Responses wire (o-series, gpt-5 and later, Grok): request -> SDK -> events. */
import { sessionHash } from '../../core/ids.ts';
import type { ModelRequest } from '../../core/model.ts';
import { chatHabits } from './chat-habits.ts';
import { toHistory } from './history.ts';
import { createOpenAiClient, type OpenAI, takesTemperature } from './openai-client.ts';
import { ResponsesAssembly } from './openai-responses-answer.ts';
import { toInputItems, toResponsesTools } from './openai-responses-input.ts';
import { thinkingWord } from './thinking.ts';
import { asRecord } from './tool-call-assembly.ts';
import type { WarmableModel, WireOptions } from './wire.ts';
import { createWireModel } from './wire-model.ts';

/** Smallest `max_output_tokens` that the API takes. */
const MIN_OUTPUT_TOKENS = 16;
/** Models that reason; the others refuse to be asked for a summary of it. */
const REASONS = /(?:^|\.)(?:o\d|gpt-[5-9](?!-chat)|codex|grok)/;

/** What a server has refused so far and is not asked for again. */
interface Asked {
  summaries: boolean;
}

/** `baseUrl` holds the version (`/v1`). The server keeps nothing: every call carries the whole history. */
export function createOpenAiResponses(options: WireOptions): WarmableModel {
  const asked: Asked = { summaries: REASONS.test(options.model) };
  return createWireModel(options, {
    connect: () => createOpenAiClient(options),
    assembly: (answer) => new ResponsesAssembly(answer),
    open: async ({ responses }, request, signal) => {
      try {
        return await responses.create(requestBody(options, request, asked), { signal }).asResponse();
      } catch (error) {
        // To unverified organizations some models give no summaries, and no answer when asked for them.
        if (!asked.summaries || asRecord(error)['param'] !== 'reasoning.summary') throw error;
        asked.summaries = false;
        return await responses.create(requestBody(options, request, asked), { signal }).asResponse();
      }
    },
  });
}

function requestBody(
  { provider, model, facts }: WireOptions,
  request: ModelRequest,
  { summaries }: Asked,
): OpenAI.Responses.ResponseCreateParamsStreaming {
  const { system, steps } = toHistory(request, { provider, model, vision: facts?.vision !== false });
  const { maxOutputTokens: limit, temperature, thinking, context } = request;
  const word = thinkingWord(thinking, facts?.thinking);
  const effort = word === undefined ? {} : { effort: (word === 'off' ? 'none' : word) as OpenAI.ReasoningEffort };
  return {
    model,
    input: toInputItems(steps),
    stream: true,
    store: false,
    ...(system === '' ? {} : { instructions: system }),
    ...(request.tools.length === 0 ? {} : { tools: toResponsesTools(request.tools) }),
    ...(limit === undefined ? {} : { max_output_tokens: Math.max(MIN_OUTPUT_TOKENS, limit) }),
    ...(temperature === undefined || !takesTemperature(provider, model) ? {} : { temperature }),
    ...(summaries || word ? { reasoning: { ...effort, ...(summaries ? { summary: 'auto' as const } : {}) } } : {}),
    // Some servers give the state of the reasoning only when they are asked for it.
    ...(REASONS.test(model) ? { include: ['reasoning.encrypted_content' as const] } : {}),
    // The name of the conversation itself is the operator's business.
    ...(chatHabits(provider).cacheKey ? { prompt_cache_key: sessionHash(context.session) } : {}),
  };
}
