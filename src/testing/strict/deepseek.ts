/**
 * DeepSeek, chat completions. Rules of https://api-docs.deepseek.com/guides/thinking_mode and
 * https://api-docs.deepseek.com/quick_start/error_codes; the texts are those of real answers, quoted at the
 * pages named beside them.
 */
import { writeAnswer } from './chat-stream.ts';
import { cacheablePrefix, callsOf, checkPairing, hasTools, masked, messagesOf, remember, textOf } from './openai-chat-rules.ts';
import type { Refusal, StrictRequest, StrictWire, TurnUsage } from './strict-server.ts';
import { thinkingType, withoutReasoning, withReasoning } from './thinking-state.ts';

/** 384K, https://api-docs.deepseek.com/quick_start/pricing */
const MAX_OUTPUT = 393_216;
/**
 * "The mapping between the effort set by the user and the model's actual reasoning effort": thinking_mode.
 */
const EFFORTS = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'];
const ROLES = ['system', 'user', 'assistant', 'tool', 'latest_reminder'];

function refused(status: number, message: string, type = 'invalid_request_error', code = 'invalid_request_error'): Refusal {
  return { status, body: { error: { message, type, param: null, code } } };
}

/** "Thinking mode is enabled by default." */
function thinks(request: StrictRequest): boolean {
  return thinkingType(request) !== 'disabled';
}

export const deepseek: StrictWire = {
  provider: 'deepseek',
  basePath: '/v1',
  refuse: {
    // https://github.com/FullStackPlayer/claude-code-launcher/issues/3
    key: (given) => refused(401, `Authentication Fails, Your api key: ${masked(given)} is invalid`, 'authentication_error'),
    // A 400 and not a 404: https://github.com/raycast/extensions/issues/29730
    model: (model) =>
      refused(400, `The supported API model names are deepseek-v4-pro or deepseek-flash, but you passed ${model}.`),
    // https://github.com/evalstate/fast-agent/issues/621
    overflow: ({ prompt, output, window }) =>
      refused(
        400,
        `This model's maximum context length is ${window} tokens. However, you requested ${prompt + output} tokens (${prompt} in the messages, ${output} in the completion). Please reduce the length of the messages or completion.`,
      ),
  },
  validate(request, memory) {
    if (request.method !== 'POST' || request.path !== '/v1/chat/completions') return { status: 404, body: '' };
    return checkShape(request) ?? checkMessages(request) ?? checkReasoning(request) ?? undefined;

    function checkReasoning(of: StrictRequest): Refusal | undefined {
      if (!thinks(of)) return undefined;
      // With `tools` every assistant message needs it, also where no tool was called:
      // https://github.com/bojieli/ai-agent-book/pull/982 quotes the guide. Without, only those with calls.
      const wrong = withoutReasoning(of, memory, (message) => hasTools(of) || callsOf(message).length > 0);
      if (wrong === undefined) return undefined;
      // https://github.com/decolua/9router/issues/773
      return refused(400, 'The `reasoning_content` in the thinking mode must be passed back to the API.');
    }
  },
  complete: (turn, request, memory) => (thinks(request) ? withReasoning(turn, memory) : { ...turn, reasoning: '' }),
  answer(turn, request, memory) {
    const { events, issued } = writeAnswer(turn, request, memory, {
      idPrefix: '',
      callId: () => memory.nextId('call_00_', 24),
      usage,
      usageIn: 'last-chunk',
    });
    if (thinks(request)) remember(memory, request, issued, turn.reasoning);
    return events;
  },
  outputOf: ({ body }) => (typeof body['max_tokens'] === 'number' ? body['max_tokens'] : 0),
  prefixOf: cacheablePrefix,
  signOfLife: () => ': keep-alive\n\n',
};

/** Unknown parameters are ignored; a wrong value of a known one is a 400 or 422. */
function checkShape(request: StrictRequest): Refusal | undefined {
  const { max_tokens: limit, reasoning_effort: effort } = request.body;
  // https://github.com/Gitlawb/openclaude/issues/35
  if (typeof limit === 'number' && (limit < 1 || limit > MAX_OUTPUT)) {
    return refused(400, `Invalid max_tokens value, the valid range of max_tokens is [1, ${MAX_OUTPUT}]`);
  }
  // https://github.com/nextai-translator/nextai-translator/issues/1879
  if (effort !== undefined && !EFFORTS.includes(String(effort)))
    return unreadable(`reasoning_effort: ${variant(effort, EFFORTS)}`);
  const role = messagesOf(request).findIndex((message) => !ROLES.includes(message.role));
  // https://github.com/decolua/9router/issues/773
  if (role >= 0) return unreadable(`messages[${role}].role: ${variant(messagesOf(request)[role]?.role, ROLES)}`);
  return undefined;
}

function variant(value: unknown, known: readonly string[]): string {
  return `unknown variant \`${value}\`, expected one of ${known.map((name) => `\`${name}\``).join(', ')}`;
}

function unreadable(what: string): Refusal {
  return refused(400, `Failed to deserialize the JSON body into the target type: ${what} at line 1 column 68`);
}

function checkMessages(request: StrictRequest): Refusal | undefined {
  const messages = messagesOf(request);
  const empty = messages.some(
    (message) => message.role === 'assistant' && callsOf(message).length === 0 && textOf(message.content) === '',
  );
  // https://github.com/carlrobertoh/ProxyAI/issues/834
  if (empty) return refused(400, 'Invalid assistant message: content or tool_calls must be set');
  return checkPairing(messages, {
    // https://github.com/TurixAI/TuriX-CUA/issues/15
    unanswered: () =>
      refused(
        400,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message)",
      ),
    // https://github.com/FoundationAgents/OpenManus/issues/227
    orphan: () => refused(400, "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"),
  });
}

/** Hits and misses together are the prompt. */
function usage({ in: prompt, out, cached = 0, reasoning = 0 }: TurnUsage): object {
  return {
    prompt_tokens: prompt,
    completion_tokens: out,
    total_tokens: prompt + out,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
    prompt_cache_hit_tokens: cached,
    prompt_cache_miss_tokens: prompt - cached,
  };
}
