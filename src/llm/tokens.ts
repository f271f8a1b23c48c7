import type { ModelRequest } from '../core/model.ts';

/** Spec B1: what a message costs beyond its text (role and separators). */
const PER_MESSAGE = 4;

/** Estimated tokens of a text (spec B1: ASCII / 4 + other / 1.5, at least 1 when not empty). For limits, never for bills. */
export function estimateTokens(text: string): number {
  let ascii = 0;
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) < 128) ascii += 1;
  return Math.ceil(ascii / 4 + (text.length - ascii) / 1.5);
}

/** Estimated input tokens of a call: messages, the arguments of their tool calls, and the tool descriptions. */
export function estimateRequestTokens(request: Pick<ModelRequest, 'messages' | 'tools'>): number {
  let total = 0;
  for (const message of request.messages) {
    total += PER_MESSAGE + estimateTokens(message.content);
    for (const call of message.tool_calls ?? []) total += estimateTokens(call.name) + estimateTokens(call.arguments);
  }
  for (const tool of request.tools) total += estimateTokens(tool.name + tool.description + JSON.stringify(tool.parameters));
  return total;
}
