/** An answer of the chat completions family as chunks. */
import type { Memory } from './memory.ts';
import { type ChatCall, type IssuedMessage, modelOf } from './openai-chat-rules.ts';
import { type CountedTurn, type StrictRequest, sse, type Turn, type TurnUsage } from './strict-server.ts';

type Stop = NonNullable<Turn['stop']>;

/** Where a wire writes something of its own. */
export interface ChatStyle {
  readonly idPrefix: string;
  callId(name: string, memory: Memory): string;
  /** Default: `reasoning_content`. */
  reasoning?(text: string): object;
  /** Default: `content` as a string. `nth` counts the pieces. */
  text?(text: string, nth: number): object;
  /** A delta after the calls, for state that belongs to the whole answer. */
  after?(calls: readonly ChatCall[]): object | undefined;
  usage(usage: TurnUsage, turn: Turn): object;
  /** A chunk of its own with no choices; the chunk that ends the answer; or the choice in that chunk. */
  readonly usageIn: 'own-chunk' | 'last-chunk' | 'choice';
  /** Fields of every chunk. */
  readonly fields?: object;
  readonly finish?: Partial<Record<Stop, string>>;
  /** The chunk that breaks an answer off. Default: OpenAI's error object. */
  error?(error: NonNullable<Turn['error']>): object;
}

export interface WrittenAnswer {
  readonly events: readonly string[];
  readonly issued: IssuedMessage;
}

const FINISH: Record<Stop, string> = {
  end: 'stop',
  tools: 'tool_calls',
  length: 'length',
  filtered: 'content_filter',
  refusal: 'content_filter',
};

/** At least this long are the pieces of a text; long texts have about 40 pieces. Characters. */
const PIECE = 24;

export function writeAnswer(turn: CountedTurn, request: StrictRequest, memory: Memory, style: ChatStyle): WrittenAnswer {
  const base = {
    id: memory.nextId(style.idPrefix),
    object: 'chat.completion.chunk',
    created: 1_780_000_000,
    model: turn.servedModel ?? modelOf(request),
    ...style.fields,
  };
  const calls = (turn.calls ?? []).map(({ name, args }): ChatCall => {
    return { id: style.callId(name, memory), type: 'function', function: { name, arguments: JSON.stringify(args) } };
  });
  const stop = turn.stop ?? (calls.length > 0 ? 'tools' : 'end');
  const chunk = (delta: object, finish: string | null = null, rest: object = {}, inChoice: object = {}): string =>
    sse({ ...base, choices: [{ index: 0, delta, finish_reason: finish, ...inChoice }], ...rest });

  const after = style.after?.(calls);
  const body = [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(turn.reasoning ?? '').map((text) => chunk(style.reasoning?.(text) ?? { reasoning_content: text })),
    ...pieces(turn.text ?? '').map((text, nth) => chunk(style.text?.(text, nth) ?? { content: text })),
    ...callDeltas(calls, stop === 'length').map((delta) => chunk({ tool_calls: [delta] })),
    ...(after === undefined ? [] : [chunk(after)]),
  ];
  const issued = { text: turn.text ?? '', calls };
  if (turn.error !== undefined) {
    const error = style.error?.(turn.error) ?? {
      error: { message: turn.error.message, type: 'server_error', code: turn.error.status },
    };
    return { events: [...body, sse({ ...base, ...error })], issued };
  }
  return { events: [...body, ...ending(), sse('[DONE]')], issued };

  function ending(): string[] {
    const finish = turn.finish ?? style.finish?.[stop] ?? FINISH[stop];
    const usage = { usage: style.usage(turn.usage, turn) };
    if (style.usageIn === 'last-chunk') return [chunk({}, finish, usage)];
    if (style.usageIn === 'choice') return [chunk({}, finish, {}, usage)];
    return [chunk({}, finish), ...(wantsUsage(request) ? [sse({ ...base, choices: [], ...usage })] : [])];
  }
}

function wantsUsage({ body }: StrictRequest): boolean {
  return (body['stream_options'] as { include_usage?: boolean } | undefined)?.include_usage === true;
}

/**
 * Id and name come first, then the arguments in pieces; a cut answer ends within the arguments of its last
 * call.
 */
function callDeltas(calls: readonly ChatCall[], cut: boolean): object[] {
  return calls.flatMap(({ id, function: { name, arguments: args } }, index) => {
    const written = cut && index === calls.length - 1 ? args.slice(0, Math.floor(args.length / 2)) : args;
    return [
      { index, id, type: 'function', function: { name, arguments: '' } },
      ...pieces(written).map((piece) => ({ index, function: { arguments: piece } })),
    ];
  });
}

export function pieces(text: string): string[] {
  const length = Math.max(PIECE, Math.ceil(text.length / 40));
  return text.match(new RegExp(`[\\s\\S]{1,${length}}`, 'gu')) ?? [];
}

/** Usage as OpenAI reports it: cached tokens inside the prompt, reasoning inside the completion. */
export function openAiUsage({ in: prompt, out, cached = 0, reasoning = 0 }: TurnUsage): object {
  return {
    prompt_tokens: prompt,
    completion_tokens: out,
    total_tokens: prompt + out,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
  };
}
