/**
 * What the servers of the chat completions family share: messages, pairing of calls and results, and finding
 * again what was issued.
 */
import type { Memory } from './memory.ts';
import type { Refusal, StrictRequest } from './strict-server.ts';

export interface ChatCall {
  readonly id: string;
  readonly type?: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly ChatCall[];
  readonly tool_call_id?: string;
  readonly reasoning_content?: unknown;
  readonly reasoning?: unknown;
  readonly reasoning_details?: unknown;
}

export function messagesOf({ body }: StrictRequest): readonly ChatMessage[] {
  return Array.isArray(body['messages']) ? (body['messages'] as ChatMessage[]) : [];
}

export function callsOf(message: ChatMessage): readonly ChatCall[] {
  return message.role === 'assistant' ? (message.tool_calls ?? []) : [];
}

export function modelOf({ body }: StrictRequest): string {
  return String(body['model'] ?? '');
}

export function hasTools({ body }: StrictRequest): boolean {
  return Array.isArray(body['tools']) && body['tools'].length > 0;
}

/** The text of a content that may be a string, a list of parts, or absent. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return (content as { type?: string; text?: string }[]).map(({ type, text }) => (type === 'text' ? (text ?? '') : '')).join('');
}

/** `index` is that of the message that is wrong. */
export interface PairingWords {
  unanswered(ids: readonly string[], index: number): Refusal;
  orphan(id: string, index: number): Refusal;
}

/**
 * Each call of an assistant message is answered right after it, and each result answers a call of the message
 * before.
 */
export function checkPairing(messages: readonly ChatMessage[], words: PairingWords): Refusal | undefined {
  let asked: readonly string[] = [];
  let open: readonly string[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      const id = message.tool_call_id ?? '';
      if (!asked.includes(id)) return words.orphan(id, index);
      open = open.filter((other) => other !== id);
      continue;
    }
    if (open.length > 0) return words.unanswered(open, index);
    asked = callsOf(message).map(({ id }) => id);
    open = asked;
  }
  return open.length > 0 ? words.unanswered(open, messages.length) : undefined;
}

/** The request's text in the order in which automatic caches compare it. */
export function cacheablePrefix(request: StrictRequest): string {
  const messages = messagesOf(request).map((message) => JSON.stringify(message));
  return [modelOf(request), JSON.stringify(request.body['tools'] ?? []), ...messages].join('\n');
}

/** An answer as the server gave it. */
export interface IssuedMessage {
  readonly text: string;
  readonly calls: readonly ChatCall[];
}

/** Keeps what belongs to the answer to this request and must come back with it. */
export function remember(memory: Memory, request: StrictRequest, { text, calls }: IssuedMessage, state: unknown): void {
  const keys = [...calls.map((call) => idKey(request, call)), messageKey(request, messagesOf(request).length, text, calls)];
  for (const key of keys) memory.issued.set(key, [...((memory.issued.get(key) as unknown[] | undefined) ?? []), state]);
}

/**
 * What may come back with the message at `index`: found by a call's id and arguments, else by text, calls and
 * the user's words before, because a client may rename the ids. Empty when this server did not write the
 * message under this model.
 */
export function recall(memory: Memory, request: StrictRequest, index: number): readonly unknown[] {
  const message = messagesOf(request)[index];
  if (message === undefined) return [];
  const calls = callsOf(message);
  const keys = [...calls.map((call) => idKey(request, call)), messageKey(request, index, textOf(message.content), calls)];
  const found = keys.find((key) => memory.issued.has(key));
  return found === undefined ? [] : (memory.issued.get(found) as unknown[]);
}

/** Ids alone do not do: Kimi counts its calls from 0 in every conversation. */
function idKey(request: StrictRequest, call: ChatCall): string {
  return [modelOf(request), 'call', call.id, said(call)].join('\n');
}

function messageKey(request: StrictRequest, index: number, text: string, calls: readonly ChatCall[]): string {
  const asked = messagesOf(request).findLast(({ role }, at) => role === 'user' && at < index);
  return [modelOf(request), 'message', textOf(asked?.content), text, ...calls.map(said)].join('\n');
}

function said({ function: { name, arguments: args } }: ChatCall): string {
  return `${name} ${canonical(args)}`;
}

/** JSON without differences in spaces and in the order of keys. */
function canonical(json: string): string {
  try {
    return JSON.stringify(sorted(JSON.parse(json)));
  } catch {
    return json;
  }
}

export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}

export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

/** A key as error messages show it. */
export function masked(key: string | undefined): string {
  return `****${(key ?? '').slice(-4)}`;
}
