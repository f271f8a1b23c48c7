import type { ModelRequest } from '../../core/model.ts';
import type { SessionMessage } from '../../core/session.ts';
import { words } from '../../lib/marks.ts';

/** Longest tool result kept: without tools the model only has to sum up, and input costs too. Characters. */
const RESULT_CHARS = 2_000;

const NOTE =
  'The spending limit of this assistant is nearly reached: no tools can be used any more. Answer from what is known so far, briefly.';

/**
 * The same request without tools. Calls and results become plain text: some providers refuse them in a
 * request without tools (Anthropic: "Requests which have tool_use or tool_result blocks must define tools").
 */
export function withoutTools(request: ModelRequest): ModelRequest {
  const names = new Map(request.messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id, name }) => [id, name] as const)));
  const messages: SessionMessage[] = [];
  let results: SessionMessage | undefined;
  for (const message of request.messages) {
    const plain = asText(message, names);
    if (message.role !== 'tool') results = undefined;
    else if (results) {
      // The results of one answer are one message: not every provider takes several of a person in a row.
      results = { ...results, content: `${results.content}\n${plain.content}` };
      messages[messages.length - 1] = results;
      continue;
    } else results = plain;
    messages.push(plain);
  }
  return { ...request, tools: [], messages: withNote(messages) };
}

function asText(message: SessionMessage, names: ReadonlyMap<string, string>): SessionMessage {
  const { tool_calls, tool_call_id, ...rest } = message;
  if (message.role === 'tool') {
    const { content } = message;
    const kept = content.length > RESULT_CHARS ? `${content.slice(0, RESULT_CHARS)}…` : content;
    return { ...rest, role: 'user', content: `[result of ${names.get(tool_call_id ?? '') ?? 'a tool'}: ${words(kept)}]` };
  }
  if (!tool_calls || tool_calls.length === 0) return rest;
  const calls = tool_calls.map((call) => `[called ${call.name} ${call.arguments}]`);
  return { ...rest, content: [message.content, ...calls].filter((part) => part.trim() !== '').join('\n') };
}

function withNote(messages: readonly SessionMessage[]): readonly SessionMessage[] {
  const [first, ...others] = messages;
  if (first?.role === 'system') return [{ ...first, content: `${first.content}\n\n${NOTE}` }, ...others];
  const timestamp = first?.timestamp ?? new Date(0).toISOString();
  return [{ id: 'spending-note', role: 'system', content: NOTE, timestamp }, ...messages];
}
