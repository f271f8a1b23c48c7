/**
 * Moonshot (Kimi), chat completions. Levels and fixed parameters as
 * https://github.com/mnfst/modelparams.dev/pull/168 quotes platform.kimi.ai/docs; the texts are those of real
 * answers, quoted at the pages named beside them.
 */
import { writeAnswer } from './chat-stream.ts';
import { cacheablePrefix, callsOf, checkPairing, messagesOf, modelOf, remember, textOf } from './openai-chat-rules.ts';
import type { Refusal, StrictRequest, StrictWire, TurnUsage } from './strict-server.ts';
import { thinkingType, withoutReasoning, withReasoning } from './thinking-state.ts';

/** `thinking` can be switched off; the others always think. */
const SWITCHABLE = /^kimi-k2\.[56]/;
/** Takes `reasoning_effort` instead of `thinking`. */
const GRADED = /^kimi-k3/;
const LEVELS = ['low', 'high', 'max'];

function refused(status: number, message: string, type = 'invalid_request_error'): Refusal {
  return { status, body: { error: { message, type } } };
}

export function thinks(request: StrictRequest): boolean {
  return !SWITCHABLE.test(modelOf(request)) || thinkingType(request) !== 'disabled';
}

export const moonshot: StrictWire = {
  provider: 'moonshot',
  basePath: '/v1',
  refuse: {
    // https://github.com/can1357/oh-my-pi/issues/5981
    key: () => refused(401, 'Invalid Authentication', 'invalid_authentication_error'),
    // https://github.com/langgenius/dify/issues/39778
    model: (model) => refused(404, `Not found the model ${model} or Permission denied`, 'resource_not_found_error'),
    // https://github.com/MoonshotAI/kimi-cli/issues/2011
    overflow: ({ prompt, window }) =>
      refused(400, `Invalid request: Your request exceeded model token limit: ${window} (requested: ${prompt})`),
  },
  validate(request, memory) {
    if (request.method !== 'POST' || request.path !== '/v1/chat/completions') {
      return refused(404, 'The requested resource was not found', 'resource_not_found_error');
    }
    const refusal = checkParameters(request) ?? checkMessages(request);
    if (refusal !== undefined || !thinks(request)) return refusal;
    // "Silently ignores unknown top-level fields and unknown `reasoning_effort` values (verified live)":
    // https://docs.rs/crate/synaps-engine/0.11.0/source/src/runtime/openai/catalog/kimi.rs
    const effort = request.body['reasoning_effort'];
    if (GRADED.test(modelOf(request)) && effort !== undefined && !LEVELS.includes(String(effort))) memory.add('ignored effort');
    const wrong = withoutReasoning(request, memory, (message) => callsOf(message).length > 0);
    if (wrong === undefined) return undefined;
    // https://github.com/VicBilibily/GCMP/issues/162
    const text = `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${wrong}`;
    return { status: 400, body: { error: { type: 'invalid_request_error', message: text }, type: 'error' } };
  },
  complete: (turn, request, memory) => (thinks(request) ? withReasoning(turn, memory) : { ...turn, reasoning: '' }),
  answer(turn, request, memory) {
    const { events, issued } = writeAnswer(turn, request, memory, {
      idPrefix: 'chatcmpl-',
      // Like `Read:158`, https://github.com/MoonshotAI/kimi-code/issues/705: no other provider accepts the
      // colon.
      callId: (name) => `${name}:${memory.nextId('', 0)}`,
      usage,
      usageIn: 'choice',
    });
    if (thinks(request)) remember(memory, request, issued, turn.reasoning);
    return events;
  },
  prefixOf: cacheablePrefix,
};

/** Unknown parameters are ignored. */
function checkParameters(request: StrictRequest): Refusal | undefined {
  const { body } = request;
  const [model, type, effort] = [modelOf(request), thinkingType(request), body['reasoning_effort']];
  // https://github.com/UKGovernmentBEIS/inspect_ai/pull/5156: another value while thinking is off.
  const fixed = thinks(request) ? 1 : 0.6;
  if (model.startsWith('kimi-') && body['temperature'] !== undefined && body['temperature'] !== fixed) {
    return refused(400, `invalid temperature: only ${fixed} is allowed for this model`);
  }
  // https://github.com/HKUDS/nanobot/issues/3939
  if (body['thinking'] !== undefined && effort !== undefined) {
    return refused(400, "cannot specify both 'thinking' and 'reasoning_effort'");
  }
  // https://github.com/MoonshotAI/Kimi-K2/issues/141
  if (type !== undefined && type !== 'enabled' && !SWITCHABLE.test(model)) {
    return refused(400, 'invalid thinking: only type=enabled is allowed for this model');
  }
  // https://github.com/pydantic/pydantic-ai/pull/6208 tells the 400, not its text.
  if (effort === 'none' && !GRADED.test(model))
    return refused(400, 'invalid reasoning_effort: none is not allowed for this model');
  return undefined;
}

function checkMessages(request: StrictRequest): Refusal | undefined {
  const messages = messagesOf(request);
  const empty = messages.findIndex(
    (message) => message.role === 'assistant' && callsOf(message).length === 0 && textOf(message.content) === '',
  );
  // https://github.com/AstrBotDevs/AstrBot/issues/7200
  if (empty >= 0)
    return refused(400, `Invalid request: the message at position ${empty} with role 'assistant' must not be empty`);
  return checkPairing(messages, {
    // https://github.com/MoonshotAI/kimi-cli/issues/1977
    unanswered: (ids) =>
      refused(
        400,
        `an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(', ')}`,
      ),
    // The text is not documented.
    orphan: (id) => refused(400, `Invalid request: tool_call_id ${id} is not found`),
  });
}

/** `cached_tokens` on the top level of usage. */
function usage({ in: prompt, out, cached = 0 }: TurnUsage): object {
  return { prompt_tokens: prompt, completion_tokens: out, total_tokens: prompt + out, cached_tokens: cached };
}
