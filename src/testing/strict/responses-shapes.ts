/**
 * What the rules for OpenAI Responses share: the error bodies, the items of a request, and what this server
 * issued.
 */
import { type Json, record, records } from './json-shapes.ts';
import type { Memory } from './memory.ts';
import type { Refusal, StrictRequest } from './strict-server.ts';

interface Details {
  readonly type?: string;
  readonly param?: string;
  readonly code?: string;
}

/** https://platform.openai.com/docs/guides/error-codes: `{"error":{"message","type","param","code"}}`. */
export function responsesError(
  status: number,
  message: string,
  { type = 'invalid_request_error', param, code }: Details = {},
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  return { status, body: { error: { message, type, param: param ?? null, code: code ?? null } }, headers };
}

/** Refusals that a script orders: they depend on the account or the moment, not on the request. */
export const responsesTrouble = {
  rateLimit: (seconds: number): Refusal =>
    responsesError(
      429,
      `Rate limit reached for gpt-6-luna in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in ${seconds}s.`,
      { type: 'tokens', code: 'rate_limit_exceeded' },
      { 'retry-after': String(seconds), 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': `${seconds}s` },
    ),
  /** A 429 that does not pass by waiting: https://github.com/NVIDIA-NeMo/Guardrails/issues/371 */
  noCredit: (): Refusal =>
    responsesError(429, 'You exceeded your current quota, please check your plan and billing details.', {
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    }),
  server: (): Refusal =>
    responsesError(500, 'The server had an error while processing your request. Sorry about that!', { type: 'server_error' }),
  overloaded: (): Refusal =>
    responsesError(503, 'The engine is currently overloaded, please try again later', { type: 'service_unavailable' }),
};

/** Where an item that this server issued belongs. */
export interface Issued {
  /** Of the answer it was part of. */
  readonly answer: string;
  readonly model: unknown;
  readonly item: Json;
  /** Id of the reasoning item that came before it in its answer. */
  readonly reasoning: string | undefined;
}

/** The items of the request; a string stands for one message of the user. */
export function itemsOf({ body }: StrictRequest): readonly Json[] {
  const { input } = body;
  return typeof input === 'string' ? [{ role: 'user', content: input }] : records(input);
}

/** A message may come without its type. */
export function typeOf({ type, role }: Json): unknown {
  return type ?? (role === undefined ? undefined : 'message');
}

/** An item is known by its encrypted content, its id, its call id, or what it says. */
export function issuedItem(item: Json, memory: Memory): Issued | undefined {
  const keys =
    typeOf(item) === 'reasoning'
      ? [item['encrypted_content'], item['id']]
      : [item['id'], item['call_id'], textKey(messageText(item))];
  for (const key of keys) {
    const found = typeof key === 'string' ? memory.issued.get(key) : undefined;
    if (found !== undefined) return found as Issued;
  }
  return undefined;
}

export function remember(issued: Issued, memory: Memory): void {
  const { id, call_id: callId, encrypted_content: encrypted } = issued.item;
  const keys = [id, callId, encrypted, textKey(messageText(issued.item))];
  for (const key of keys) if (typeof key === 'string') memory.issued.set(key, issued);
  const answer = (memory.issued.get(issued.answer) ?? []) as Issued[];
  memory.issued.set(issued.answer, [...answer, issued]);
}

/** Two answers may say the same, so that a text alone does not tell which of them is meant. */
export function isPartOf(item: Json, answer: string | undefined, memory: Memory): boolean {
  const parts = (memory.issued.get(answer ?? '') ?? []) as Issued[];
  return parts.some(({ item: part }) => {
    if (typeOf(part) !== typeOf(item)) return false;
    if (part['type'] === 'function_call') return part['call_id'] === item['call_id'];
    if (part['type'] === 'reasoning') return part['encrypted_content'] === item['encrypted_content'];
    return messageText(part) === messageText(item);
  });
}

function textKey(text: string): string | undefined {
  return text === '' ? undefined : `text ${text}`;
}

export function messageText(item: Json): string {
  const { content } = item;
  if (typeOf(item) !== 'message' || item['role'] !== 'assistant') return '';
  return typeof content === 'string'
    ? content
    : records(content)
        .map(({ text, refusal }) => text ?? refusal ?? '')
        .join('');
}

export function listed(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  const [last] = quoted.slice(-1);
  if (quoted.length <= 2) return quoted.join(' and ');
  return `${quoted.slice(0, -1).join(', ')}, and ${last}`;
}

export function reasoningOf({ body }: StrictRequest): Json {
  return record(body['reasoning']);
}
