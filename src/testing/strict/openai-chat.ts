/**
 * OpenAI, chat completions. The texts are those of real answers, quoted at the pages named beside them;
 * parameters, levels and limits are those of https://platform.openai.com/docs/api-reference/chat/create.
 */
import { openAiUsage, writeAnswer } from './chat-stream.ts';
import { firstOf, type Json, record, records } from './json-shapes.ts';
import { CACHE_MINIMUM } from './memory.ts';
import {
  type ChatMessage,
  cacheablePrefix,
  callsOf,
  checkPairing,
  hasTools,
  masked,
  messagesOf,
  modelOf,
} from './openai-chat-rules.ts';
import type { Refusal, StrictRequest, StrictWire } from './strict-server.ts';
import { openAiSchemaProblem } from './tool-schemas.ts';

/** What differs by model. The first pattern that fits counts. */
interface ModelRule {
  readonly pattern: RegExp;
  readonly maxOutput: number;
  /** Absent: the model does not reason. */
  readonly effort?: { readonly values: readonly string[]; readonly byDefault: string };
  /** With function tools no effort but `none` is accepted on this wire. */
  readonly toolsWantNone?: true;
}

const MODELS: readonly ModelRule[] = [
  {
    pattern: /^gpt-6(?:\.1-sol|-astra)/,
    maxOutput: 128_000,
    effort: efforts('low medium high xhigh max', 'medium'),
    toolsWantNone: true,
  },
  { pattern: /^gpt-6/, maxOutput: 128_000, effort: efforts('none low medium high xhigh max', 'medium'), toolsWantNone: true },
  { pattern: /^gpt-5\.6/, maxOutput: 128_000, effort: efforts('none low medium high xhigh', 'medium'), toolsWantNone: true },
  { pattern: /^gpt-5\.[45]/, maxOutput: 128_000, effort: efforts('none low medium high xhigh', 'none'), toolsWantNone: true },
  { pattern: /^gpt-5\.[23]/, maxOutput: 128_000, effort: efforts('none low medium high xhigh', 'none') },
  { pattern: /^gpt-5\.1/, maxOutput: 128_000, effort: efforts('none low medium high', 'none') },
  { pattern: /^gpt-5/, maxOutput: 128_000, effort: efforts('minimal low medium high', 'medium') },
  { pattern: /^o[134]/, maxOutput: 100_000, effort: efforts('low medium high', 'medium') },
  { pattern: /^gpt-4\.1/, maxOutput: 32_768 },
  { pattern: /^gpt-4o/, maxOutput: 16_384 },
];
const OTHER: ModelRule = { pattern: /^/, maxOutput: 128_000 };

function efforts(values: string, byDefault: string): NonNullable<ModelRule['effort']> {
  return { values: values.split(' '), byDefault };
}

const PARAMETERS = new Set(
  (
    'messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens metadata ' +
    'modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options ' +
    'prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options ' +
    'temperature tool_choice tools top_logprobs top_p user verbosity web_search_options'
  ).split(' '),
);

export function refused(status: number, message: string, fields: { type?: string; param?: string; code?: string } = {}): Refusal {
  const { type = 'invalid_request_error', param = null, code = null } = fields;
  return { status, body: { error: { message, type, param, code } } };
}

function ruleOf(request: StrictRequest): ModelRule {
  return MODELS.find(({ pattern }) => pattern.test(modelOf(request))) ?? OTHER;
}

export const openAiChat: StrictWire = {
  provider: 'openai',
  basePath: '/v1',
  refuse: {
    // https://github.com/chatanywhere/GPT_API_free/issues/62; the text for no key is not from a page.
    key: (given) =>
      refused(
        401,
        given === undefined
          ? "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth."
          : `Incorrect API key provided: ${masked(given)}. You can find your API key at https://platform.openai.com/account/api-keys.`,
        given === undefined ? {} : { code: 'invalid_api_key' },
      ),
    // https://github.com/simonw/llm/issues/1553 and https://github.com/langflow-ai/langflow/issues/1337
    model: (model, retired) =>
      refused(
        404,
        retired
          ? `The model \`${model}\` has been deprecated, learn more here: https://platform.openai.com/docs/deprecations`
          : `The model \`${model}\` does not exist or you do not have access to it.`,
        { code: 'model_not_found' },
      ),
    // https://github.com/webtimemachine/wtm2/issues/579; from GPT-5 on
    // https://github.com/anomalyco/opencode/issues/6071
    overflow: ({ prompt, window, model }) =>
      refused(
        400,
        /^gpt-4/.test(model)
          ? `This model's maximum context length is ${window} tokens. However, your messages resulted in ${prompt} tokens. Please reduce the length of the messages.`
          : 'Your input exceeds the context window of this model. Please adjust your input and try again.',
        { param: 'messages', code: 'context_length_exceeded' },
      ),
  },
  validate(request) {
    if (request.method !== 'POST' || request.path !== '/v1/chat/completions') return unknownPath(request);
    const messages = messagesOf(request);
    return checkParameters(request) ?? checkIds(messages) ?? checkContents(messages) ?? checkPairing(messages, PAIRING);
  },
  answer: (turn, request, memory) =>
    writeAnswer(turn, request, memory, {
      idPrefix: 'chatcmpl-',
      callId: () => memory.nextId('call_', 24),
      // The reasoning is hidden on this wire: it is counted, and never sent.
      reasoning: () => ({}),
      ...(turn.stop === 'refusal' ? { text: (refusal: string) => ({ refusal }), finish: { refusal: 'stop' } } : {}),
      usage: (counted) => withWrites(openAiUsage(counted), counted.cacheWrite),
      usageIn: 'own-chunk',
    }).events,
  count(turn, request, memory) {
    const counted = memory.count(turn, request, cacheablePrefix(request));
    // Writes are billed from GPT-5.6 on: https://developers.openai.com/api/docs/guides/prompt-caching
    const writes = WRITES.test(modelOf(request)) && counted.in >= CACHE_MINIMUM;
    return writes ? { ...counted, cacheWrite: counted.in - (counted.cached ?? 0) } : counted;
  },
};

const WRITES = /^gpt-(?:5\.6|6)/;

function withWrites(usage: object, written = 0): object {
  if (written === 0) return usage;
  const { prompt_tokens_details: details } = usage as { prompt_tokens_details: object };
  return { ...usage, prompt_tokens_details: { ...details, cache_write_tokens: written } };
}

export function unknownPath({ method, path }: StrictRequest): Refusal {
  return refused(404, `Invalid URL (${method} ${path})`);
}

function checkParameters(request: StrictRequest): Refusal | undefined {
  const { body } = request;
  // https://github.com/CherryHQ/cherry-studio/issues/6155
  const unknown = Object.keys(body).filter((name) => !PARAMETERS.has(name));
  if (unknown.length > 0) return unrecognized(unknown);
  return checkLimit(request) ?? checkEffort(request) ?? checkTemperature(request) ?? checkTools(body);
}

function unrecognized(names: readonly string[]): Refusal {
  return refused(400, `Unrecognized request argument${names.length > 1 ? 's' : ''} supplied: ${names.join(', ')}`);
}

function checkLimit(request: StrictRequest): Refusal | undefined {
  const { maxOutput, effort } = ruleOf(request);
  // https://github.com/devnullvoid/dms-ai-assistant/issues/12
  if (effort !== undefined && request.body['max_tokens'] !== undefined) {
    return refused(
      400,
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      { param: 'max_tokens', code: 'unsupported_parameter' },
    );
  }
  // https://github.com/tailcallhq/forgecode/issues/1185
  for (const param of ['max_tokens', 'max_completion_tokens']) {
    const asked = request.body[param];
    if (typeof asked !== 'number' || asked <= maxOutput) continue;
    const text = `${param} is too large: ${asked}. This model supports at most ${maxOutput} completion tokens, whereas you provided ${asked}.`;
    return refused(400, text, { param, code: 'invalid_value' });
  }
  return undefined;
}

function checkEffort(request: StrictRequest): Refusal | undefined {
  const { effort, toolsWantNone } = ruleOf(request);
  const asked = request.body['reasoning_effort'];
  // https://github.com/davidmigloz/langchain_dart/issues/712
  if (effort === undefined) return asked === undefined ? undefined : unrecognized(['reasoning_effort']);
  // https://github.com/egoist/chatwise-releases/issues/1257
  if (asked !== undefined && !effort.values.includes(String(asked))) {
    const text = `Unsupported value: 'reasoning_effort' does not support '${asked}' with this model. Supported values are: ${listed(effort.values)}.`;
    return refused(400, text, { param: 'reasoning_effort', code: 'unsupported_value' });
  }
  // https://github.com/BerriAI/litellm/pull/34569 and https://github.com/onyx-dot-app/onyx/issues/15008: also
  // when none is asked for.
  if (toolsWantNone === undefined || !hasTools(request) || (asked ?? effort.byDefault) === 'none') return undefined;
  const text = `Function tools with reasoning_effort are not supported for ${modelOf(request)} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`;
  return refused(400, text, { param: 'reasoning_effort' });
}

function listed(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`;
}

function checkTemperature(request: StrictRequest): Refusal | undefined {
  const { effort } = ruleOf(request);
  const asked = request.body['temperature'];
  if (effort === undefined || asked === undefined || asked === 1) return undefined;
  if ((request.body['reasoning_effort'] ?? effort.byDefault) === 'none') return undefined;
  // https://github.com/gabrii/Cursor-Azure-GPT-5/issues/33
  const text = `Unsupported value: 'temperature' does not support ${asked} with this model. Only the default (1) value is supported.`;
  return refused(400, text, { param: 'temperature', code: 'unsupported_value' });
}

function checkIds(messages: readonly ChatMessage[]): Refusal | undefined {
  for (const [index, message] of messages.entries()) {
    const ids = callsOf(message).map(({ id }, nth) => [`messages[${index}].tool_calls[${nth}].id`, id] as const);
    const answered = message.role === 'tool' ? [[`messages[${index}].tool_call_id`, message.tool_call_id ?? ''] as const] : [];
    for (const [param, id] of [...ids, ...answered]) {
      // https://github.com/vercel/ai/issues/5171
      if (id.length > 40) {
        const text = `Invalid '${param}': string too long. Expected a string with maximum length 40, but got a string with length ${id.length} instead.`;
        return refused(400, text, { param, code: 'string_above_max_length' });
      }
      // The wording is that of the Responses API, https://github.com/langchain-ai/langchainjs/issues/11044
      if (!/^[A-Za-z0-9_-]+$/.test(id)) {
        const text = `Invalid '${param}': '${id}'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.`;
        return refused(400, text, { param, code: 'invalid_value' });
      }
    }
  }
  return undefined;
}

/**
 * https://github.com/run-llama/llama_index/pull/17921: only an assistant message with calls may have no
 * content.
 */
function checkContents(messages: readonly ChatMessage[]): Refusal | undefined {
  for (const [index, message] of messages.entries()) {
    if (message.tool_calls?.length === 0) {
      const param = `messages[${index}].tool_calls`;
      const text = `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`;
      return refused(400, text, { param, code: 'empty_array' });
    }
    if (message.content === undefined || message.content === null) {
      if (callsOf(message).length > 0) continue;
      const text = "Invalid value for 'content': expected a string, got null.";
      return refused(400, text, { param: `messages.[${index}].content` });
    }
  }
  return undefined;
}

const PAIRING = {
  // https://github.com/BloomLabsInc/genkit-plugins/issues/225
  unanswered: (ids: readonly string[], index: number) =>
    refused(
      400,
      `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(', ')}`,
      { param: `messages.[${index}].role` },
    ),
  // https://github.com/FoundationAgents/OpenManus/issues/744
  orphan: (_id: string, index: number) =>
    refused(400, "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'", {
      param: `messages.[${index}].role`,
    }),
};

function checkTools(body: Json): Refusal | undefined {
  return firstOf(
    records(body['tools']).map((tool, at) => {
      const { name, parameters } = record(tool['function']);
      const problem = parameters === undefined ? undefined : openAiSchemaProblem(record(parameters));
      if (problem === undefined) return undefined;
      return refused(400, `Invalid schema for function '${String(name)}': ${problem}`, {
        param: `tools[${at}].function.parameters`,
        code: 'invalid_function_parameters',
      });
    }),
  );
}
