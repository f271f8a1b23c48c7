/**
 * Makes any history acceptable to every provider, before each call (spec C3): a half tool call left by a
 * crash would otherwise be a request error on every later turn of the session (reliability.md F21). Pure;
 * repairing twice changes nothing.
 */
import { shortHash } from '../core/ids.ts';
import type { SessionMessage, ToolCall } from '../core/session.ts';
import { isDeep } from '../lib/json-depth.ts';
import { isCompacted } from './compact.ts';
import { cutText } from './cut-text.ts';

/** Longest tool result before the last user message (spec C3). */
const OLD_RESULT_CHARS = 800;
/** Written as the result of a call that has none. */
export const LOST_RESULT = 'Error: result lost: the outcome of this call is unknown, check before repeating it';

/** Marks user text that the gateway wrote. `#` cannot come from a platform id: `messageKey` escapes it. */
const NOTE = '#note';
const NOTE_PREFIX = '[System note] ';

/** A message that stands for a later system message. */
export function isNote(message: SessionMessage): boolean {
  return message.role === 'user' && message.id.endsWith(NOTE);
}

/** A system message in the middle of a conversation, in the form providers accept there. */
export function asNote(message: SessionMessage): SessionMessage {
  return { ...message, id: `${message.id}${NOTE}`, role: 'user', content: `${NOTE_PREFIX}${message.content}` };
}

/** How ids of words end that were added to a run under way (`noteLine`): they begin no turn. */
const ADDED = /#n\d+$/;

/** Place of the newest message of a person that began a turn, -1 when there is none. */
export function lastUserIndex(messages: readonly SessionMessage[]): number {
  return messages.findLastIndex((message) => message.role === 'user' && !isNote(message) && !ADDED.test(message.id));
}

export function repairHistory(messages: readonly SessionMessage[]): readonly SessionMessage[] {
  return cutOldResults(pairTools(mergeSystem(messages)));
}

function mergeSystem(messages: readonly SessionMessage[]): readonly SessionMessage[] {
  const firstOther = messages.findIndex((message) => message.role !== 'system' || isCompacted(message));
  const head = firstOther === -1 ? messages : messages.slice(0, firstOther);
  const rest = messages.slice(head.length).map((message) => (message.role === 'system' ? asNote(message) : message));
  const first = head[0];
  if (first === undefined) return rest;
  return [{ ...first, content: head.map((message) => message.content).join('\n\n') }, ...rest];
}

interface OpenCall {
  readonly call: ToolCall;
  readonly originalId: string;
  result?: SessionMessage;
}

/** An assistant message with its calls, or any other message. */
interface Entry {
  readonly message: SessionMessage;
  readonly calls: readonly OpenCall[];
}

function pairTools(messages: readonly SessionMessage[]): readonly SessionMessage[] {
  const entries: Entry[] = [];
  const ids = new UniqueIds();
  for (const message of messages) {
    if (message.role === 'tool') {
      const open = openCall(entries, message.tool_call_id);
      if (open) open.result = message;
      continue; // a result without a call is dropped
    }
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
    // Providers refuse an assistant message that says nothing and does nothing.
    if (message.role === 'assistant' && calls.length === 0 && message.content.trim() === '') continue;
    entries.push({
      message,
      calls: calls.map((call) => ({
        originalId: call.id,
        call: { ...call, id: ids.take(call.id), arguments: objectJson(call.arguments) },
      })),
    });
  }
  return entries.flatMap(flatten);
}

/** The newest call of that id that waits for its result: at some providers ids repeat over turns. */
function openCall(entries: readonly Entry[], id: string | undefined): OpenCall | undefined {
  for (const entry of entries.toReversed()) {
    const open = entry.calls.find((call) => call.originalId === id && call.result === undefined);
    if (open) return open;
  }
  return undefined;
}

function flatten({ message, calls }: Entry): readonly SessionMessage[] {
  const { tool_calls: _, ...plain } = message;
  if (calls.length === 0) return [plain];
  const results = calls.map(
    ({ call, result }): SessionMessage =>
      result === undefined
        ? {
            id: `${message.id}#lost-${call.id}`,
            role: 'tool',
            content: LOST_RESULT,
            tool_call_id: call.id,
            timestamp: message.timestamp,
          }
        : { ...result, tool_call_id: call.id },
  );
  return [{ ...plain, tool_calls: calls.map(({ call }) => call) }, ...results];
}

/** Ids that all providers take: `call_` and at most 35 of Anthropic's characters (OpenAI's limit is 40). */
const GOOD_ID = /^call_[A-Za-z0-9_-]{1,35}$/;

class UniqueIds {
  readonly #taken = new Set<string>();
  /** How often each came: some servers give every call of a session the same one. */
  readonly #times = new Map<string, number>();

  take(id: string): string {
    const base = GOOD_ID.test(id) ? id : `call_${shortHash(id)}`;
    let unique = base;
    let n = this.#times.get(base) ?? 1;
    while (this.#taken.has(unique)) {
      n += 1;
      unique = `call_${shortHash(base)}_${n}`;
    }
    this.#times.set(base, n);
    this.#taken.add(unique);
    return unique;
  }
}

/** Arguments go back as an object: servers that render them in a template fail on anything else. */
function objectJson(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && !isDeep(value)) return text;
  } catch {
    // Falls through: the model is shown what it wrote, inside an object.
  }
  return text.trim() === '' ? '{}' : JSON.stringify({ malformed_arguments: cutText(text, OLD_RESULT_CHARS) });
}

function cutOldResults(messages: readonly SessionMessage[]): readonly SessionMessage[] {
  const lastUser = lastUserIndex(messages);
  return messages.map((message, i) =>
    message.role === 'tool' && i < lastUser ? { ...message, content: cutText(message.content, OLD_RESULT_CHARS) } : message,
  );
}
