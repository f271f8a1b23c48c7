/**
 * xAI, chat completions. Rules of https://docs.x.ai/developers/model-capabilities/text/reasoning; the texts
 * are those of real answers, quoted at the pages named beside them.
 */
import { writeAnswer } from './chat-stream.ts';
import { cacheablePrefix, checkPairing, messagesOf, modelOf } from './openai-chat-rules.ts';
import type { Refusal, StrictRequest, StrictWire, Turn, TurnUsage } from './strict-server.ts';

/**
 * https://github.com/mnfst/modelparams.dev/pull/330; other models take no level. The first pattern that fits
 * counts.
 */
const EFFORTS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^grok-4\.[67]/, ['low', 'medium', 'high', 'xhigh']],
  [/^grok-4\.5/, ['low', 'medium', 'high']],
  [/^grok-4\.3/, ['none', 'low', 'medium', 'high']],
];
/** "1 USD = 1e10 ticks": https://github.com/Wei-Shaw/sub2api/issues/5771 */
const TICKS_PER_USD = 1e10;

/** `error` is a string. https://github.com/Wei-Shaw/sub2api/issues/4069 */
function refused(status: number, error: string, code = 'Client specified an invalid argument'): Refusal {
  return { status, body: { code, error } };
}

export const xai: StrictWire = {
  provider: 'xai',
  basePath: '/v1',
  refuse: {
    // A 400 and not a 401: https://github.com/continuedev/continue/issues/10778
    key: (given = '') =>
      refused(
        400,
        `Incorrect API key provided: ${given.slice(0, 2)}***${given.slice(-2)}. You can obtain an API key from https://console.x.ai.`,
      ),
    // https://github.com/yihong0618/bilingual_book_maker/issues/464
    model: (model) =>
      refused(
        404,
        `The model ${model} does not exist or your team 00000000-0000-0000-0000-000000000000 does not have access to it. Please ensure you're using the correct API key. If you believe this is a mistake, please contact support and quote your team ID and the model name.`,
        'Some requested entity was not found',
      ),
    // "This model's maximum prompt length is 131072 but the request contains 537812 tokens": the rest of the
    // body is not documented.
    overflow: ({ prompt, window }) =>
      refused(400, `This model's maximum prompt length is ${window} but the request contains ${prompt} tokens.`),
  },
  validate(request) {
    if (request.method !== 'POST' || request.path !== '/v1/chat/completions') {
      const text =
        'No handler found on route. Please double check your URL and consult https://api.x.ai/docs for more information.';
      return refused(404, text, 'Some requested entity was not found');
    }
    return checkParameters(request) ?? checkPairing(messagesOf(request), PAIRING);
  },
  answer: (turn, request, memory) =>
    writeAnswer(turn, request, memory, { idPrefix: '', callId: () => memory.nextId('call_', 8), usage, usageIn: 'last-chunk' })
      .events,
  prefixOf: cacheablePrefix,
};

function checkParameters(request: StrictRequest): Refusal | undefined {
  const model = modelOf(request);
  const { reasoning_effort: effort, presence_penalty: presence, frequency_penalty: frequency, stop } = request.body;
  const unsupported = (name: string): Refusal => refused(400, `Model ${model} does not support parameter ${name}.`);
  const levels = EFFORTS.find(([pattern]) => pattern.test(model))?.[1];
  // https://github.com/BerriAI/litellm/pull/16265
  if (effort !== undefined && levels === undefined) return unsupported('reasoningEffort');
  if (effort !== undefined && levels?.includes(String(effort)) === false) {
    // The text is not documented; that the level is refused is.
    return refused(400, `Invalid reasoning effort: ${effort}. Supported values are: ${levels.join(', ')}.`);
  }
  // https://github.com/miaoxworld/NativeTavern/issues/83: also with the value 0.
  if (presence !== undefined) return unsupported('presencePenalty');
  if (frequency !== undefined) return unsupported('frequencyPenalty');
  return stop === undefined ? undefined : unsupported('stop');
}

/** xAI documents no text for these; OpenAI's stand for them. */
const PAIRING = {
  unanswered: (ids: readonly string[]) =>
    refused(
      400,
      `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(', ')}`,
    ),
  orphan: () => refused(400, "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"),
};

/**
 * "Reasoning token consumption will be counted separately from completion_tokens":
 * https://github.com/vercel/ai/pull/12425
 */
function usage({ in: prompt, out, cached = 0, reasoning = 0 }: TurnUsage, { costUsd }: Turn): object {
  return {
    prompt_tokens: prompt,
    completion_tokens: out - reasoning,
    total_tokens: prompt + out,
    prompt_tokens_details: { text_tokens: prompt, audio_tokens: 0, image_tokens: 0, cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
    ...(costUsd === undefined ? {} : { cost_in_usd_ticks: Math.round(costUsd * TICKS_PER_USD) }),
  };
}
