/** The OpenAI Responses wire (o-series, gpt-5): request -> SDK stream -> events. */
import type { ModelRequest } from '../../core/model.ts';
import { toHistory } from './history.ts';
import { createOpenAiClient, type OpenAI, takesTemperature } from './openai-client.ts';
import { ResponsesAssembly } from './openai-responses-answer.ts';
import { toInputItems, toResponsesTools } from './openai-responses-input.ts';
import { asRecord } from './tool-call-assembly.ts';
import { callWire, type WarmableModel, type WireOptions } from './wire.ts';

/** Smallest `max_output_tokens` that the API takes. */
const MIN_OUTPUT_TOKENS = 16;
/** Models that reason; the others refuse to be asked for a summary of it. */
const REASONS = /^(?:o\d|gpt-5(?!-chat)|codex)/;

/**
 * `baseUrl` holds the version segment: `https://api.openai.com/v1`. Nothing is kept at the server: every call carries the whole
 * history. Connects nothing and loads nothing until the first call or `warm`. Retries nothing: see `withRetry`.
 */
export function createOpenAiResponses(options: WireOptions): WarmableModel {
  let loading: Promise<OpenAI> | undefined;
  const client = (): Promise<OpenAI> => {
    loading ??= createOpenAiClient(options);
    return loading;
  };
  let summaries = REASONS.test(options.model);
  const { provider, model } = options;
  return {
    id: `${provider}/${model}`,
    contextWindow: options.contextWindow,
    ...(options.facts ? { facts: options.facts } : {}),
    call: (request, signal) =>
      callWire(options, request, signal, {
        assembly: (inputTokens) => new ResponsesAssembly({ provider, model, inputTokens }),
        open: async (until) => {
          const { responses } = await client();
          try {
            return await responses.create(requestBody(options, request, summaries), { signal: until });
          } catch (error) {
            // Organizations that are not verified get no summaries of some models, and no answer when they ask for one.
            if (!summaries || asRecord(error)['param'] !== 'reasoning.summary') throw error;
            summaries = false;
            return await responses.create(requestBody(options, request, summaries), { signal: until });
          }
        },
      }),
    async warm() {
      await client();
    },
  };
}

function requestBody(
  { model, facts }: WireOptions,
  request: ModelRequest,
  summaries: boolean,
): OpenAI.Responses.ResponseCreateParamsStreaming {
  const { system, steps } = toHistory(request, facts?.vision !== false);
  const { maxOutputTokens, temperature } = request;
  return {
    model,
    input: toInputItems(steps),
    stream: true,
    store: false,
    ...(system === '' ? {} : { instructions: system }),
    ...(request.tools.length === 0 ? {} : { tools: toResponsesTools(request.tools) }),
    ...(maxOutputTokens === undefined ? {} : { max_output_tokens: Math.max(MIN_OUTPUT_TOKENS, maxOutputTokens) }),
    ...(temperature === undefined || !takesTemperature(model) ? {} : { temperature }),
    ...(summaries ? { reasoning: { summary: 'auto' } } : {}),
  };
}
