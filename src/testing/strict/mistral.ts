/**
 * Mistral, chat completions. Parameters are those of `ChatCompletionStreamRequest` in @mistralai/mistralai
 * 2.7.0, where extra ones are forbidden; the texts are those of real answers, quoted at the pages named
 * beside them.
 */
import { openAiUsage, writeAnswer } from './chat-stream.ts';
import { type ChatMessage, cacheablePrefix, callsOf, messagesOf, modelOf, textOf } from './openai-chat-rules.ts';
import type { Refusal, StrictRequest, StrictWire } from './strict-server.ts';

const PARAMETERS = new Set(
  (
    'model temperature top_p max_tokens stream stop random_seed metadata messages response_format tools tool_choice presence_penalty ' +
    'frequency_penalty n prediction parallel_tool_calls reasoning_effort prompt_mode guardrails prompt_cache_key safe_prompt ' +
    'service_tier stream_options'
  ).split(' '),
);
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  system: ['role', 'content'],
  user: ['role', 'content'],
  assistant: ['role', 'content', 'tool_calls', 'prefix'],
  tool: ['role', 'content', 'tool_call_id', 'name'],
};
/**
 * https://docs.mistral.ai/inference/conversations/reasoning and
 * https://github.com/anomalyco/models.dev/pull/1986
 */
const EFFORTS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^mistral-large-(?:4|latest)/, ['none', 'low', 'medium', 'high']],
  [/^mistral-(?:small-(?:latest|2603|4)|medium-(?:latest|3-5|3\.5|2604))/, ['none', 'high']],
];
/** Roles that may not follow: by the role before. */
const NOT_AFTER: Readonly<Record<string, readonly string[]>> = { user: ['tool'], tool: ['user', 'system'], system: ['tool'] };

/** Flat: no `error` object. error-glossary.md in https://github.com/mistralai/platform-docs-public */
function refused(status: number, message: string, type = 'invalid_request_error', code: string | null = null): Refusal {
  return { status, body: { object: 'error', message, type, param: null, code } };
}

/** https://github.com/Gitlawb/openclaude/issues/739 */
function extraForbidden(extras: readonly { readonly loc: readonly (string | number)[]; readonly input: unknown }[]): Refusal {
  const detail = extras.map(({ loc, input }) => {
    return { type: 'extra_forbidden', loc: ['body', ...loc], msg: 'Extra inputs are not permitted', input };
  });
  return { status: 422, body: { detail } };
}

export const mistral: StrictWire = {
  provider: 'mistral',
  basePath: '/v1',
  refuse: {
    // https://github.com/nextcloud/integration_openai/issues/332
    key: () => ({ status: 401, body: { detail: 'Unauthorized' } }),
    // A 400 and not a 404: https://github.com/mistralai/mistral-vibe/issues/617
    model: (model) => refused(400, `Invalid model: ${model}`, 'invalid_model', '1500'),
    // "Prompt contains X tokens … too large for model with Y maximum context length": type and code are not
    // documented.
    overflow: ({ prompt, window }) =>
      refused(
        400,
        `Prompt contains ${prompt} tokens and 0 draft tokens, too large for model with ${window} maximum context length`,
        'invalid_request_invalid_args',
        '3051',
      ),
  },
  validate(request) {
    if (request.method !== 'POST' || request.path !== '/v1/chat/completions')
      return { status: 404, body: { detail: 'Not Found' } };
    const messages = messagesOf(request);
    return checkExtras(request) ?? checkEffort(request) ?? checkIds(messages) ?? checkOrder(messages) ?? checkCounts(messages);
  },
  complete: (turn, request) => (thinks(request) ? turn : { ...turn, reasoning: '' }),
  answer: (turn, request, memory) =>
    writeAnswer(turn, request, memory, {
      idPrefix: '',
      callId: () => memory.nextId('', 9),
      reasoning: (text) => ({ content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] }),
      // After thinking the text begins as a list too.
      text: (text, nth) => ({ content: nth === 0 && turn.reasoning ? [{ type: 'text', text }] : text }),
      usage: openAiUsage,
      usageIn: 'last-chunk',
      // "model_length" and "error" exist too; a filter has no finish reason of its own.
      finish: { filtered: 'stop', refusal: 'stop' },
      error: ({ status, message }) => ({
        object: 'error',
        message,
        type: 'internal_server_error',
        param: null,
        code: `${status}`,
      }),
    }).events,
  outputOf: ({ body }) => (typeof body['max_tokens'] === 'number' ? body['max_tokens'] : 0),
  // "Set the same prompt_cache_key on requests that are likely to share a prefix":
  // https://docs.mistral.ai/inference/conversations/advanced/prompt-caching
  prefixOf: (request) =>
    request.body['prompt_cache_key'] === undefined ? '' : `${request.body['prompt_cache_key']}\n${cacheablePrefix(request)}`,
};

function thinks({ body }: StrictRequest): boolean {
  return body['reasoning_effort'] !== undefined && body['reasoning_effort'] !== 'none';
}

function checkExtras(request: StrictRequest): Refusal | undefined {
  const { body } = request;
  const inBody = Object.keys(body)
    .filter((name) => !PARAMETERS.has(name))
    .map((name) => ({ loc: [name], input: body[name] }));
  // https://github.com/avante-corp/avante.nvim/issues/2347: usage comes without asking, and asking is
  // refused.
  const options = (body['stream_options'] ?? {}) as Record<string, unknown>;
  const inOptions = Object.keys(options).map((name) => ({ loc: ['stream_options', name], input: options[name] }));
  // https://github.com/charmbracelet/crush/issues/1590: `reasoning_content` is such a field.
  const inMessages = messagesOf(request).flatMap((message, index) =>
    Object.entries(message)
      .filter(([name]) => FIELDS[message.role]?.includes(name) !== true)
      .map(([name, input]) => ({ loc: ['messages', index, message.role, name], input })),
  );
  const extras = [...inBody, ...inOptions, ...inMessages];
  return extras.length > 0 ? extraForbidden(extras) : undefined;
}

function checkEffort(request: StrictRequest): Refusal | undefined {
  const asked = request.body['reasoning_effort'];
  if (asked === undefined || asked === null) return undefined;
  const values = EFFORTS.find(([pattern]) => pattern.test(modelOf(request)))?.[1] ?? ['none'];
  if (values.includes(String(asked))) return undefined;
  // https://github.com/architects-toolkit/SmartHopper/issues/647
  const known = values.map((value) => `<ReasoningEffort.${value}: '${value}'>`).join(', ');
  const text = `reasoning_effort='${asked}' is not supported for this model. Must be one of (${known})`;
  return refused(400, text, 'invalid_request_invalid_args', '3051');
}

/** https://github.com/nearai/ironclaw/issues/1241 */
function checkIds(messages: readonly ChatMessage[]): Refusal | undefined {
  const ids = messages.flatMap((message) =>
    message.role === 'tool' ? [message.tool_call_id ?? ''] : callsOf(message).map(({ id }) => id),
  );
  const wrong = ids.find((id) => !/^[A-Za-z0-9]{9}$/.test(id));
  if (wrong === undefined) return undefined;
  const text = `Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.`;
  return refused(400, text, 'invalid_function_call', '3280');
}

function checkOrder(messages: readonly ChatMessage[]): Refusal | undefined {
  for (const [index, message] of messages.entries()) {
    // https://github.com/OpenHands/OpenHands/issues/8685
    const isEmpty = callsOf(message).length === 0 && textOf(message.content) === '';
    if (message.role === 'assistant' && isEmpty) {
      return refused(
        400,
        'Assistant message must have either content or tool_calls, but not none.',
        'invalid_request_message',
        '3240',
      );
    }
    const before = messages[index - 1]?.role;
    // https://github.com/onyx-dot-app/onyx/issues/6458 (user after tool) and
    // https://github.com/charmbracelet/crush/issues/279.
    if (before !== undefined && NOT_AFTER[before]?.includes(message.role) === true) {
      return wrongOrder(`Unexpected role '${message.role}' after role '${before}'`);
    }
  }
  // https://github.com/QuantumNous/new-api/issues/2858
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || (last as { prefix?: boolean }).prefix === true) return undefined;
  return wrongOrder('Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant');
}

function wrongOrder(text: string): Refusal {
  return refused(400, text, 'invalid_request_message_order', '3230');
}

/**
 * https://github.com/mistralai/client-python/issues/234: it counts, and also each result must belong to a
 * call.
 */
function checkCounts(messages: readonly ChatMessage[]): Refusal | undefined {
  for (const [index, message] of messages.entries()) {
    const calls = callsOf(message);
    if (calls.length === 0) continue;
    const rest = messages.slice(index + 1);
    const end = rest.findIndex(({ role }) => role !== 'tool');
    const results = (end === -1 ? rest : rest.slice(0, end)).map((result) => result.tool_call_id);
    const fits = results.length === calls.length && calls.every(({ id }) => results.includes(id));
    if (!fits) return refused(400, 'Not the same number of function calls and responses', 'invalid_request_error', '3230');
  }
  return undefined;
}
