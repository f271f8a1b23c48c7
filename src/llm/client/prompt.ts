import type { Image, ModelCallContext, ModelRequest } from '../../core/model.ts';
import type { SessionMessage } from '../../core/session.ts';

/** What to ask: one prompt of a user, or a conversation. */
export type Prompt = {
  /** In front of a system message that `messages` may begin with. */
  readonly system?: string;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  /** Who pays: budgets and the ledger go by it. */
  readonly context: ModelCallContext;
} & (
  | { readonly prompt: string; readonly images?: readonly Image[]; readonly messages?: never }
  | {
      readonly messages: readonly SessionMessage[];
      /** By the id of their user message. */
      readonly images?: ReadonlyMap<string, readonly Image[]>;
      readonly prompt?: never;
    }
);

/** Messages of a call are not kept: no wire sends their time. */
const NO_TIME = new Date(0).toISOString();
const PROMPT_ID = 'prompt';

/** The request of one call, without tools; at most one system message, first. */
export function toRequest(prompt: Prompt): ModelRequest {
  const { system, maxOutputTokens, temperature, context } = prompt;
  const messages = prompt.messages ?? [toMessage(PROMPT_ID, 'user', prompt.prompt)];
  return {
    messages: system === undefined ? messages : withSystem(messages, system),
    tools: [],
    ...imagesOf(prompt),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    context,
  };
}

function imagesOf(prompt: Prompt): { images?: ReadonlyMap<string, readonly Image[]> } {
  if (prompt.images === undefined) return {};
  return { images: prompt.messages === undefined ? new Map([[PROMPT_ID, prompt.images]]) : prompt.images };
}

/** Puts the text in front of the system message, which is made when there is none. */
export function withSystem(messages: readonly SessionMessage[], text: string): readonly SessionMessage[] {
  const [first, ...rest] = messages;
  if (first?.role !== 'system') return [toMessage('system', 'system', text), ...messages];
  return [{ ...first, content: `${text}\n\n${first.content}` }, ...rest];
}

export function toMessage(
  id: string,
  role: SessionMessage['role'],
  content: string,
  more: Partial<SessionMessage> = {},
): SessionMessage {
  return { id, role, content, timestamp: NO_TIME, ...more };
}
