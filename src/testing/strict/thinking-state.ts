/** Reasoning that DeepSeek and Moonshot want back as `reasoning_content`. */
import type { Memory } from './memory.ts';
import { type ChatMessage, callsOf, messagesOf, recall } from './openai-chat-rules.ts';
import type { StrictRequest, Turn } from './strict-server.ts';

/**
 * What the model thinks when the script does not say: it differs from answer to answer, so that no other can
 * stand for it.
 */
export function withReasoning(turn: Turn, memory: Memory): Turn {
  return turn.reasoning === undefined ? { ...turn, reasoning: `Considering what to do next (${memory.nextId('', 6)}).` } : turn;
}

/**
 * Index of the first of these messages whose reasoning is missing, or, with calls, is not what this server
 * issued with it. A message that it did not issue under this model may have any text, also none.
 */
export function withoutReasoning(
  request: StrictRequest,
  memory: Memory,
  needs: (message: ChatMessage) => boolean,
): number | undefined {
  const index = messagesOf(request).findIndex((message, at) => {
    if (message.role !== 'assistant' || !needs(message)) return false;
    if (typeof message.reasoning_content !== 'string') return true;
    if (callsOf(message).length === 0) return false;
    const issued = recall(memory, request, at);
    return issued.length > 0 && !issued.includes(message.reasoning_content);
  });
  return index === -1 ? undefined : index;
}

export function thinkingType({ body }: StrictRequest): unknown {
  return (body['thinking'] as { type?: unknown } | undefined)?.type;
}
