/**
 * Anthropic Messages (https://platform.claude.com/docs/en/api/messages). The client library adds `/v1`
 * itself: give it `origin`. Counters: `missingThinking`, `droppedThinking` (see anthropic-thinking.ts),
 * `cacheWrite1h` (tokens of `billed.cacheWrite` that were written for an hour, at twice the input price
 * instead of 1.25 times).
 */
import { cachePrompt, checkCacheControl } from './anthropic-cache.ts';
import { checkHistory } from './anthropic-history.ts';
import { checkParameters, thinkingType } from './anthropic-parameters.ts';
import { anthropicError, invalid } from './anthropic-shapes.ts';
import { checkThinking, issueCall, issueThinking } from './anthropic-thinking.ts';
import { claudeModel } from './claude-models.ts';
import type { TurnUsage } from './exchange.ts';
import { firstOf, halves, type Json, record } from './json-shapes.ts';
import { type Memory, tokensIn } from './memory.ts';
import { type CountedTurn, type Refusal, type StrictRequest, type StrictWire, sse, type Turn } from './strict-server.ts';

const MAX_BODY_BYTES = 32 * 1_024 * 1_024;

interface ClaudeUsage extends TurnUsage {
  readonly written1h?: number;
}

export interface AnthropicOptions {
  /**
   * Whether `max_tokens` has to fit the context window beside the prompt. Models from 4.5 on answer until the
   * window is full instead. Default false.
   */
  readonly outputInWindow?: boolean;
}

export function anthropicWire({ outputInWindow = false }: AnthropicOptions = {}): StrictWire {
  return {
    provider: 'anthropic',
    basePath: '/v1',
    refuse: {
      key: (given) => anthropicError(401, 'authentication_error', given ? 'invalid x-api-key' : 'x-api-key header is required'),
      model: (model) => anthropicError(404, 'not_found_error', `model: ${model}`),
      overflow: ({ prompt, output, window }) =>
        prompt > window
          ? invalid(`prompt is too long: ${prompt} tokens > ${window} maximum`)
          : invalid(
              `input length and \`max_tokens\` exceed context limit: ${prompt} + ${output} > ${window}, decrease input length or \`max_tokens\` and try again`,
            ),
    },
    keyOf: ({ headers }) => headers['x-api-key']?.toString() ?? /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1],
    outputOf: ({ body }) => (outputInWindow ? Number(body['max_tokens']) : 0),
    validate: (request, memory) =>
      firstOf(
        (function* () {
          yield checkEnvelope(request);
          yield checkParameters(request);
          yield checkHistory(request);
          yield checkCacheControl(request);
          yield checkThinking(request, memory);
        })(),
      ),
    // A model that may think does, so that there is always something to send back. "" = it thinks nothing.
    complete: (turn, request, memory) =>
      turn.reasoning === undefined && thinks(request) ? { ...turn, reasoning: `Next: step ${memory.nextId('', 6)}.` } : turn,
    count: countTurn,
    answer: answerEvents,
    models: (memory) => {
      const data = memory.available().map((id) => ({ type: 'model', id, display_name: id, created_at: '2026-01-01T00:00:00Z' }));
      return { data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
    },
    signOfLife: () => event('ping'),
  };
}

function checkEnvelope({ method, path, headers }: StrictRequest): Refusal | undefined {
  if (method !== 'POST' || path !== '/v1/messages') return anthropicError(404, 'not_found_error', 'Not Found');
  if (headers['anthropic-version'] === undefined) return invalid('anthropic-version: header is required');
  if (Number(headers['content-length'] ?? 0) <= MAX_BODY_BYTES) return undefined;
  return anthropicError(413, 'request_too_large', 'Request exceeds the maximum size');
}

/** Thinking counts only where the request thinks. */
function countTurn(turn: Turn, request: StrictRequest, memory: Memory): ClaudeUsage {
  const { all, read, written5m, written1h } = cachePrompt(request, memory);
  if (written1h > 0) memory.counts['cacheWrite1h'] = (memory.counts['cacheWrite1h'] ?? 0) + written1h;
  const reasoning = thinks(request) ? tokensIn(turn.reasoning?.length ?? 0) : 0;
  const calls = (turn.calls ?? []).map(({ name, args }) => name.length + JSON.stringify(args).length);
  const shown = tokensIn(calls.reduce((sum, chars) => sum + chars, turn.text?.length ?? 0));
  return { in: all, out: reasoning + shown, cached: read, cacheWrite: written5m + written1h, reasoning, written1h };
}

/** A forced tool begins the answer, so nothing is thought before it. */
function thinks(request: StrictRequest): boolean {
  const forced = ['tool', 'any'].includes(String(record(request.body['tool_choice'])['type']));
  return thinkingType(request) !== 'disabled' && !forced;
}

function event(type: string, data: object = {}): string {
  return sse({ type, ...data }, type);
}

function answerEvents(turn: CountedTurn, request: StrictRequest, memory: Memory): readonly string[] {
  const usage: ClaudeUsage = turn.usage;
  const { cached = 0, cacheWrite = 0, written1h = 0 } = usage;
  const message = {
    id: memory.nextId('msg_'),
    type: 'message',
    role: 'assistant',
    model: turn.servedModel ?? request.body['model'],
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: {
      input_tokens: usage.in - cached - cacheWrite,
      cache_creation_input_tokens: cacheWrite,
      cache_read_input_tokens: cached,
      cache_creation: { ephemeral_5m_input_tokens: cacheWrite - written1h, ephemeral_1h_input_tokens: written1h },
      output_tokens: 1,
    },
  };
  const blocks = contentBlocks(turn, request, memory);
  const events = [event('message_start', { message }), event('ping'), ...blocks.flatMap(blockEvents)];
  if (turn.error) {
    const type = turn.error.status === 529 ? 'overloaded_error' : 'api_error';
    return [...events, event('error', { error: { type, message: turn.error.message } })];
  }
  const delta = { stop_reason: stopReason(turn), stop_sequence: null, ...stopDetails(turn) };
  const outputs = { output_tokens: usage.out, output_tokens_details: { thinking_tokens: usage.reasoning ?? 0 } };
  return [...events, event('message_delta', { delta, usage: outputs }), event('message_stop')];
}

interface Content {
  /** As it stands in `content_block_start`. */
  readonly start: Json;
  readonly deltas: readonly Json[];
}

function contentBlocks(turn: CountedTurn, request: StrictRequest, memory: Memory): readonly Content[] {
  const blocks: Content[] = [];
  let thinking: Json | undefined;
  if (turn.reasoning && thinks(request)) {
    const { display = claudeModel(String(request.body['model'])).display } = record(request.body['thinking']);
    thinking = issueThinking(display === 'summarized' ? turn.reasoning : '', request, memory);
    const { thinking: text, signature } = thinking;
    const spoken = text === '' ? [] : halves(String(text)).map((piece) => ({ type: 'thinking_delta', thinking: piece }));
    const deltas = [...spoken, { type: 'signature_delta', signature }];
    blocks.push({ start: { type: 'thinking', thinking: '', signature: '' }, deltas });
  }
  if (turn.text !== undefined && turn.text !== '') {
    const deltas = halves(turn.text).map((text) => ({ type: 'text_delta', text }));
    blocks.push({ start: { type: 'text', text: '' }, deltas });
  }
  for (const [nth, { name, args }] of (turn.calls ?? []).entries()) {
    const id = memory.nextId('toolu_01');
    issueCall(id, thinking, memory);
    const written = halves(JSON.stringify(args));
    // An answer cut by its length ends within the arguments of its last call.
    const cut = turn.stop === 'length' && nth + 1 === turn.calls?.length;
    const deltas = (cut ? written.slice(0, 1) : written).map((partial_json) => ({ type: 'input_json_delta', partial_json }));
    blocks.push({ start: { type: 'tool_use', id, name, input: {} }, deltas });
  }
  return blocks;
}

function blockEvents({ start, deltas }: Content, index: number): readonly string[] {
  return [
    event('content_block_start', { index, content_block: start }),
    ...deltas.map((delta) => event('content_block_delta', { index, delta })),
    event('content_block_stop', { index }),
  ];
}

/** https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons */
function stopReason({ stop, calls, finish }: Turn): string {
  if (finish !== undefined) return finish;
  if (stop === 'length') return 'max_tokens';
  if (stop === 'filtered' || stop === 'refusal') return 'refusal';
  return stop === 'tools' || (stop === undefined && calls?.length) ? 'tool_use' : 'end_turn';
}

function stopDetails(turn: Turn): object {
  return stopReason(turn) === 'refusal'
    ? { stop_details: { type: 'refusal', category: 'general_harms', explanation: null } }
    : {};
}
