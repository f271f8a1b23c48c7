import type { ModelRequest, ToolSpec } from '../../core/model.ts';
import type { SessionMessage, ToolCall } from '../../core/session.ts';

export type OpenAiMessage =
  | { role: 'system' | 'user'; content: string }
  | { role: 'tool'; content: string; tool_call_id: string }
  | { role: 'assistant'; content: string | null; tool_calls?: OpenAiToolCall[]; reasoning_content?: string };

interface OpenAiToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

/**
 * Session lines as OpenAI chat messages. With `sendReasoning` the reasoning of the present turn goes back, which some thinking
 * models demand between their tool calls; older reasoning never does. Media is text by now; images are not sent.
 */
export function toOpenAiMessages(messages: ModelRequest['messages'], sendReasoning: boolean): OpenAiMessage[] {
  const turnStart = messages.findLastIndex((message) => message.role === 'user');
  return messages.flatMap((message, index) => toOpenAiMessage(message, sendReasoning && index > turnStart));
}

function toOpenAiMessage(message: SessionMessage, sendReasoning: boolean): OpenAiMessage[] {
  switch (message.role) {
    case 'system':
    case 'user':
      return [{ role: message.role, content: message.content }];
    case 'tool':
      return [{ role: 'tool', content: message.content, tool_call_id: message.tool_call_id ?? '' }];
    case 'assistant': {
      const calls = message.tool_calls ?? [];
      // "content must not be empty" is a 400 at several providers, and an empty line says nothing.
      if (calls.length === 0 && message.content === '') return [];
      return [
        {
          role: 'assistant',
          content: message.content === '' ? null : message.content,
          ...(calls.length === 0 ? {} : { tool_calls: calls.map(toOpenAiToolCall) }),
          ...(sendReasoning && message.reasoning_content ? { reasoning_content: message.reasoning_content } : {}),
        },
      ];
    }
  }
}

function toOpenAiToolCall(call: ToolCall): OpenAiToolCall {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: validArguments(call.arguments) } };
}

/** The JSON text of an object. Servers parse the arguments of past calls and fail on broken JSON; the model still sees what it wrote. */
export function validArguments(text: string): string {
  if (text.trim() === '') return '{}';
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text;
  } catch {
    // not JSON: wrapped below
  }
  return JSON.stringify({ malformed_arguments: text });
}

export function toOpenAiTools(tools: readonly ToolSpec[]): {
  type: 'function';
  function: { name: string; description: string; parameters: Record<string, unknown> };
}[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters: { ...parameters } },
  }));
}
