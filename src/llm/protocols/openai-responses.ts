/** The OpenAI Responses wire (o-series, gpt-5): request -> SDK stream -> events. */
import type { ModelRequest } from '../../core/model.ts';
import { toHistory } from './history.ts';
import { createOpenAiClient, type OpenAI, takesTemperature } from './openai-client.ts';
import { ResponsesAssembly } from './openai-responses-answer.ts';
import { toInputItems, toResponsesTools } from './openai-responses-input.ts';
import { asRecord } from './tool-call-assembly.ts';
import type { WarmableModel, WireOptions } from './wire.ts';
import { createWireModel } from './wire-model.ts';

/** Smallest `max_output_tokens` that the API takes. */
const MIN_OUTPUT_TOKENS = 16;
/** Models that reason; the others refuse to be asked for a summary of it. */
const REASONS = /^(?:o\d|gpt-5(?!-chat)|codex)/;

/** `baseUrl` holds the version segment: `https://api.openai.com/v1`. Nothing is kept at the server: every call carries the whole history. */
export function createOpenAiResponses(options: WireOptions): WarmableModel {
  let summaries = REASONS.test(options.model);
  return createWireModel(options, {
    connect: () => createOpenAiClient(options),
    assembly: (answer) => new ResponsesAssembly(answer),
    open: async ({ responses }, request, signal) => {
      try {
        return await responses.create(requestBody(options, request, summaries), { signal });
      } catch (error) {
        // Organizations that are not verified get no summaries of some models, and no answer when they ask for one.
        if (!summaries || asRecord(error)['param'] !== 'reasoning.summary') throw error;
        summaries = false;
        return await responses.create(requestBody(options, request, summaries), { signal });
      }
    },
  });
}

function requestBody(
  { provider, model, facts }: WireOptions,
  request: ModelRequest,
  summaries: boolean,
): OpenAI.Responses.ResponseCreateParamsStreaming {
  const { system, steps } = toHistory(request, { provider, model, vision: facts?.vision !== false });
  const { maxOutputTokens, temperature } = request;
  return {
    model,
    input: toInputItems(steps),
    stream: true,
    store: false,
    ...(system === '' ? {} : { instructions: system }),
    ...(request.tools.length === 0 ? {} : { tools: toResponsesTools(request.tools) }),
    ...(maxOutputTokens === undefined ? {} : { max_output_tokens: Math.max(MIN_OUTPUT_TOKENS, maxOutputTokens) }),
    ...(temperature === undefined || !takesTemperature(provider, model) ? {} : { temperature }),
    ...(summaries ? { reasoning: { summary: 'auto' } } : {}),
  };
}
