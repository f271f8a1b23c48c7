/**
 * OpenRouter. Rules of https://openrouter.ai/docs/use-cases/reasoning-tokens and
 * https://openrouter.ai/docs/api/reference/errors-and-debugging; the texts are those of real answers, quoted
 * at the pages named beside them. The model's vendor, read from its slug, decides what must come back.
 */
import { openAiUsage, writeAnswer } from './chat-stream.ts';
import type { Memory } from './memory.ts';
import {
  type ChatMessage,
  cacheablePrefix,
  callsOf,
  checkPairing,
  isSame,
  messagesOf,
  modelOf,
  recall,
  remember,
} from './openai-chat-rules.ts';
import type { CountedTurn, Refusal, StrictRequest, StrictWire } from './strict-server.ts';
import { withReasoning } from './thinking-state.ts';

/** One entry of `reasoning_details`. */
interface Detail {
  readonly type: string;
  readonly text?: string;
  readonly signature?: string;
  readonly data?: string;
  readonly id?: string;
  readonly format: string;
  readonly index: number;
}

const SIGNS = /^google\/gemini-[34]/;
const CLAUDE = /^anthropic\/claude/;
const KIMI = /^~?moonshotai\/kimi/;

function refused(status: number, message: string, metadata?: object): Refusal {
  return { status, body: { error: { message, code: status, ...(metadata === undefined ? {} : { metadata }) } } };
}

/** What the host behind refused is text in `metadata.raw`. */
function hostRefused(raw: string, host: string): Refusal {
  const refusal = refused(400, 'Provider returned error', { raw, provider_name: host, is_byok: false });
  return { ...refusal, body: { ...(refusal.body as object), user_id: 'user_strict' } };
}

function googleError(message: string): string {
  return `${JSON.stringify({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }, null, 2)}\n`;
}

export const openrouter: StrictWire = {
  provider: 'openrouter',
  basePath: '/api/v1',
  refuse: {
    // https://github.com/apurvsinghgautam/robin/issues/103 and
    // https://github.com/musistudio/claude-code-router/issues/227
    key: (given) => refused(401, given === undefined ? 'No auth credentials found' : 'User not found.'),
    // https://github.com/anomalyco/opencode/issues/10594 and
    // https://github.com/maxnowack/anthropic-proxy/issues/4
    model: (model, retired) =>
      retired ? refused(404, `No endpoints found for ${model}.`) : refused(400, `${model} is not a valid model ID`),
    // https://github.com/continuedev/continue/issues/10690
    overflow: ({ prompt, output, window }) =>
      refused(
        400,
        `This endpoint's maximum context length is ${window} tokens. However, you requested about ${prompt + output} tokens (${prompt} of text input, ${output} in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.`,
      ),
  },
  validate(request, memory) {
    if (request.method !== 'POST' || request.path !== '/api/v1/chat/completions') return refused(404, 'Not Found');
    return checkReasoning(request) ?? checkMessages(request) ?? checkDetails(request, memory);
  },
  complete: (turn, request, memory) => (alwaysThinks(request) ? withReasoning(turn, memory) : turn),
  answer,
  outputOf: ({ body }) => Number(body['max_completion_tokens'] ?? body['max_tokens'] ?? 0),
  prefixOf: cacheablePrefix,
  // https://openrouter.ai/docs/api-reference/streaming
  signOfLife: () => ': OPENROUTER PROCESSING\n\n',
};

function alwaysThinks(request: StrictRequest): boolean {
  return [SIGNS, CLAUDE, KIMI].some((vendor) => vendor.test(modelOf(request)));
}

function answer(turn: CountedTurn, request: StrictRequest, memory: Memory): readonly string[] {
  const model = modelOf(request);
  const claude = CLAUDE.test(model);
  const format = SIGNS.test(model) ? 'google-gemini-v1' : claude ? 'anthropic-claude-v1' : 'unknown';
  const secret = memory.nextId('c2ln', 40);
  const after = (calls: readonly { readonly id: string }[]): Detail | undefined => {
    // The signature of Claude comes in a last piece without text: https://github.com/agno-agi/agno/pull/5802
    if (claude && turn.reasoning) return { type: 'reasoning.text', signature: secret, format, index: 0 };
    const [first] = calls;
    // One for the first of parallel calls.
    return format === 'google-gemini-v1' && first !== undefined
      ? { type: 'reasoning.encrypted', data: secret, id: first.id, format, index: 1 }
      : undefined;
  };
  const { events, issued } = writeAnswer(turn, request, memory, {
    idPrefix: 'gen-',
    callId: (name) => memory.nextId(`tool_0_${name}_`, 12),
    reasoning: (text) => ({ reasoning: text, reasoning_details: [{ type: 'reasoning.text', text, format, index: 0 }] }),
    after: (calls) => {
      const detail = after(calls);
      return detail === undefined ? undefined : { reasoning_details: [detail] };
    },
    fields: { provider: hostOf(model) },
    usage: (counted, { costUsd }) => ({
      ...openAiUsage(counted),
      prompt_tokens_details: { cached_tokens: counted.cached ?? 0, cache_write_tokens: counted.cacheWrite ?? 0, audio_tokens: 0 },
      ...(costUsd === undefined ? {} : { cost: costUsd, cost_details: { upstream_inference_cost: null }, is_byok: false }),
    }),
    usageIn: 'last-chunk',
    // The error stands beside a choice that ends with `error`: errors-and-debugging.
    error: ({ status, message }) => ({
      error: { code: status, message },
      choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
    }),
  });
  const text: Detail[] = turn.reasoning ? [{ type: 'reasoning.text', text: turn.reasoning, format, index: 0 }] : [];
  const last = after(issued.calls);
  if (last?.data !== undefined) memory.issued.set(`${model} signature ${last.data}`, [model]);
  remember(memory, request, issued, joined([...text, ...(last === undefined ? [] : [last])]));
  return events;
}

function hostOf(model: string): string {
  return SIGNS.test(model) ? 'Google AI Studio' : KIMI.test(model) ? 'Moonshot AI' : CLAUDE.test(model) ? 'Anthropic' : 'Host';
}

/** Neighbouring pieces of one reasoning text are one entry. */
function joined(details: readonly Detail[]): readonly Detail[] {
  const whole: Detail[] = [];
  for (const detail of details) {
    const before = whole.at(-1);
    const continues = detail.type === 'reasoning.text' && before?.type === detail.type && before.index === detail.index;
    if (!continues) {
      whole.push(detail);
      continue;
    }
    const text =
      before.text === undefined && detail.text === undefined ? {} : { text: (before.text ?? '') + (detail.text ?? '') };
    whole[whole.length - 1] = { ...before, ...detail, ...text };
  }
  return whole;
}

function checkReasoning({ body }: StrictRequest): Refusal | undefined {
  const reasoning = body['reasoning'] as { effort?: unknown; max_tokens?: unknown } | undefined;
  // https://github.com/omeryasirkucuk/amx/pull/66
  if (reasoning?.effort !== undefined && reasoning.max_tokens !== undefined) {
    return refused(400, 'Only one of "reasoning.effort" and "reasoning.max_tokens" can be specified');
  }
  // https://github.com/danny-avila/LibreChat/issues/6076; @openrouter/sdk: they must not differ.
  const short = body['reasoning_effort'];
  if (reasoning !== undefined && short !== undefined && short !== reasoning.effort) {
    return refused(400, 'Only one of "reasoning" and "reasoning_effort" may be provided');
  }
  return undefined;
}

/** OpenRouter hands the messages on; the texts are those of the hosts. */
function checkMessages(request: StrictRequest): Refusal | undefined {
  const host = hostOf(modelOf(request));
  const error = (message: string): Refusal =>
    hostRefused(JSON.stringify({ error: { message, type: 'invalid_request_error' } }), host);
  return checkPairing(messagesOf(request), {
    unanswered: (ids) =>
      error(
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(', ')}`,
      ),
    orphan: () => error("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"),
  });
}

/** The details of an answer come back whole and unchanged where its vendor checks them. */
function checkDetails(request: StrictRequest, memory: Memory): Refusal | undefined {
  const messages = messagesOf(request);
  const turnStart = messages.findLastIndex(({ role }) => role === 'user');
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'assistant') continue;
    const refusal = checkMessage({ message, index, isCurrent: index > turnStart }, request, memory);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

interface Place {
  readonly message: ChatMessage;
  readonly index: number;
  /** Of the turn that is going on. */
  readonly isCurrent: boolean;
}

function checkMessage({ message, index, isCurrent }: Place, request: StrictRequest, memory: Memory): Refusal | undefined {
  const sent = Array.isArray(message.reasoning_details) ? (message.reasoning_details as Detail[]) : [];
  const [call] = callsOf(message);
  const model = modelOf(request);
  const issued = recall(memory, request, index);
  if (SIGNS.test(model)) return call === undefined ? undefined : checkSignature({ message, index, isCurrent }, request, memory);
  // Left out is accepted, https://github.com/NousResearch/hermes-agent/pull/24107; in pieces or changed is
  // not.
  if (CLAUDE.test(model) && sent.length > 0 && issued.length > 0 && !issued.some((state) => isSame(state, sent))) {
    const error = {
      type: 'invalid_request_error',
      message: `messages.${index}.content.0: Invalid \`signature\` in \`thinking\` block`,
    };
    return hostRefused(JSON.stringify({ type: 'error', error }), 'Anthropic');
  }
  const hasReasoning = sent.length > 0 || [message.reasoning, message.reasoning_content].some((text) => typeof text === 'string');
  if (KIMI.test(model) && call !== undefined && !hasReasoning) {
    const text = `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${index}`;
    return hostRefused(JSON.stringify({ error: { message: text, type: 'invalid_request_error' } }), 'Moonshot AI');
  }
  return undefined;
}

/**
 * Calls of the current turn need what was issued with them; a signature must be one that was issued, in
 * details that are unchanged.
 */
function checkSignature({ message, index, isCurrent }: Place, request: StrictRequest, memory: Memory): Refusal | undefined {
  const sent = Array.isArray(message.reasoning_details) ? (message.reasoning_details as Detail[]) : [];
  const model = modelOf(request);
  const issued = recall(memory, request, index);
  const signatures = sent.filter(({ type }) => type === 'reasoning.encrypted');
  const isForeign = signatures.some(({ data }) => !memory.issued.has(`${model} signature ${data}`));
  const isChanged = sent.length > 0 && issued.length > 0 && !issued.some((state) => isSame(state, joined(sent)));
  // https://github.com/massgen/MassGen/issues/665
  if (isForeign || isChanged) return hostRefused(googleError('Corrupted thought signature.'), 'Google AI Studio');
  if (signatures.length > 0) return undefined;
  if (issued.length === 0) memory.add('foreign calls unsigned');
  else if (!isCurrent) memory.add('earlier calls unsigned');
  else return missingSignature(callsOf(message)[0]?.function.name ?? '', index);
  return undefined;
}

/** https://github.com/LibreChat-AI/agents/issues/37 */
function missingSignature(name: string, position: number): Refusal {
  const google = `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${position + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`;
  const advice =
    'Gemini models require OpenRouter reasoning details to be preserved in each request. Please refer to our docs: https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks. Upstream error: ';
  return hostRefused(`${advice}${googleError(google)}`, 'Google AI Studio');
}

/**
 * `HTTP 200` whose body is an error: what OpenRouter sends when a host fails after the answer was accepted.
 */
export function errorInside200(code: number, message: string): Refusal {
  return { ...refused(code, message), status: 200 };
}
