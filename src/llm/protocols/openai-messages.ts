import type { Image, ModelRequest, ToolSpec } from '../../core/model.ts';
import type { SessionMessage, ToolCall } from '../../core/session.ts';

export type OpenAiMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string | OpenAiPart[] }
  | { role: 'tool'; content: string; tool_call_id: string }
  | { role: 'assistant'; content: string | null; tool_calls?: OpenAiToolCall[]; reasoning_content?: string };

type OpenAiPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };

interface OpenAiToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

/**
 * Session lines as OpenAI chat messages. With `sendReasoning` the reasoning of the present turn goes back, which some thinking
 * models demand between their tool calls; older reasoning never does. Without `vision` pictures become a note in the text.
 */
export function toOpenAiMessages(
  { messages, images }: Pick<ModelRequest, 'messages' | 'images'>,
  { sendReasoning, vision }: { readonly sendReasoning: boolean; readonly vision: boolean },
): OpenAiMessage[] {
  const turnStart = messages.findLastIndex((message) => message.role === 'user');
  return messages.flatMap((message, index) =>
    toOpenAiMessage(message, {
      sendReasoning: sendReasoning && index > turnStart,
      vision,
      pictures: images?.get(message.id) ?? [],
    }),
  );
}

function toUserMessage(text: string, pictures: readonly Image[], vision: boolean): OpenAiMessage {
  // A plain string where nothing else is needed: small servers know no parts.
  if (pictures.length === 0 || !vision) return { role: 'user', content: withPictureNote(text, pictures.length) };
  const parts = pictures.map(
    ({ mime, base64 }): OpenAiPart => ({ type: 'image_url', image_url: { url: `data:${mime};base64,${base64}` } }),
  );
  return { role: 'user', content: text === '' ? parts : [{ type: 'text', text }, ...parts] };
}

/** The text of a user message for a model that cannot see its pictures. */
export function withPictureNote(text: string, pictures: number): string {
  if (pictures === 0) return text;
  const note = `[${pictures === 1 ? '1 picture was' : `${pictures} pictures were`} attached; this model cannot see them]`;
  return text === '' ? note : `${text}\n${note}`;
}

function toOpenAiMessage(
  message: SessionMessage,
  { sendReasoning, vision, pictures }: { sendReasoning: boolean; vision: boolean; pictures: readonly Image[] },
): OpenAiMessage[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.content }];
    case 'user':
      return [toUserMessage(message.content, pictures, vision)];
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
