import type Anthropic from '@anthropic-ai/sdk';
import type { ToolSpec } from '../../core/model.ts';
import { NO_RESULT, type PastCall, type Step } from './history.ts';

type Block = Anthropic.ContentBlockParam;

/** Stands where the API wants a user message first and the history was cut. */
const CUT = '[the earlier messages are not shown]';

/**
 * Steps as messages that alternate between user and assistant and begin with the user. The results of an answer's calls are the first
 * blocks after it: the API refuses anything before them. Text without a visible character is refused too and left out.
 */
export function toAnthropicMessages(steps: readonly Step[]): Anthropic.MessageParam[] {
  const messages: { role: 'user' | 'assistant'; content: Block[] }[] = [];
  const add = (role: 'user' | 'assistant', blocks: readonly Block[]): void => {
    if (blocks.length === 0) return;
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else messages.push({ role, content: [...blocks] });
  };
  for (const step of steps) {
    if (step.role === 'user') {
      // Pictures before the text that speaks about them, as the documentation advises.
      add('user', [...step.images.map(toImage), ...toText(step.text)]);
      continue;
    }
    const blocks = [...toText(step.text), ...step.calls.map(toToolUse)];
    if (messages.length === 0 && blocks.length > 0) add('user', toText(CUT));
    add('assistant', blocks);
    add('user', step.calls.map(toToolResult));
  }
  if (messages.length === 0) add('user', toText(CUT));
  return messages;
}

function toText(text: string): Block[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}

function toImage({ mime, base64 }: { mime: Anthropic.Base64ImageSource['media_type']; base64: string }): Block {
  return { type: 'image', source: { type: 'base64', media_type: mime, data: base64 } };
}

function toToolUse(call: PastCall): Block {
  return { type: 'tool_use', id: toId(call.id), name: call.name, input: JSON.parse(call.arguments) };
}

function toToolResult({ id, result }: PastCall): Block {
  if (result === undefined) return { type: 'tool_result', tool_use_id: toId(id), content: NO_RESULT, is_error: true };
  return { type: 'tool_result', tool_use_id: toId(id), ...(result.trim() === '' ? {} : { content: result }) };
}

/** The API takes `^[a-zA-Z0-9_-]+$`; other providers give their calls ids with dots and colons. */
function toId(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, '_') || 'call';
}

export function toAnthropicTools(tools: readonly ToolSpec[]): Anthropic.Tool[] {
  return tools.map(({ name, description, parameters }) => ({
    name,
    description,
    // The API wants the type named, also of a tool without arguments.
    input_schema: { ...parameters, type: 'object' },
  }));
}
