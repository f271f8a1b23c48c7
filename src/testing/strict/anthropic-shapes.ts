/** What the rules for Anthropic share: the error bodies and the messages of a request in one form. */
import { type Json, record, records } from './json-shapes.ts';
import type { Refusal, StrictRequest } from './strict-server.ts';

const REQUEST_ID = 'req_011CSHoEeqs5C35K2UUqR7Fy';

/**
 * https://platform.claude.com/docs/en/api/errors: `{"type":"error","error":{"type","message"},"request_id"}`.
 */
export function anthropicError(
  status: number,
  type: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  const body = { type: 'error', error: { type, message }, request_id: REQUEST_ID };
  return { status, body, headers: { 'request-id': REQUEST_ID, ...headers } };
}

export function invalid(message: string): Refusal {
  return anthropicError(400, 'invalid_request_error', message);
}

/** Refusals that a script orders: they depend on the account or the moment, not on the request. */
export const anthropicTrouble = {
  rateLimit: (seconds: number): Refusal =>
    anthropicError(429, 'rate_limit_error', 'This request would exceed the rate limit of your organization.', {
      'retry-after': String(seconds),
      'anthropic-ratelimit-requests-remaining': '0',
    }),
  /** A 400, not a 402: https://github.com/anthropics/claude-code/issues/4207 */
  noCredit: (): Refusal =>
    invalid(
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
    ),
  overloaded: (): Refusal => anthropicError(529, 'overloaded_error', 'Overloaded'),
  server: (): Refusal => anthropicError(500, 'api_error', 'Internal server error'),
};

export interface ClaudeMessage {
  readonly role: unknown;
  readonly blocks: readonly Json[];
}

/** A string stands for one text block. */
export function messagesOf({ body }: Pick<StrictRequest, 'body'>): readonly ClaudeMessage[] {
  return records(body['messages']).map(({ role, content }) => ({ role, blocks: blocksOf(content) }));
}

export function blocksOf(content: unknown): readonly Json[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : records(content);
}

export function isThinking({ type }: Json): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

const texts = new WeakMap<object, string>();

/**
 * Text of a block as it is compared: `cache_control` is no part of the prompt. Kept with the block, which
 * nothing changes: each thinking block of a request is compared with all that stands before it.
 */
export function promptText(block: unknown): string {
  const kept = block instanceof Object ? texts.get(block) : undefined;
  if (kept !== undefined) return kept;
  const text = JSON.stringify(block, (key, value: unknown) => (key === 'cache_control' ? undefined : value)) ?? '';
  if (block instanceof Object) texts.set(block, text);
  return text;
}

export function effortOf({ body }: StrictRequest): unknown {
  return record(body['output_config'])['effort'];
}
