import type { ModelRequest } from '../core/model.ts';
import type { SessionMessage } from '../core/session.ts';

/** What a picture takes of the window at most: Claude 5.5 some 4,000, OpenAI 2,900 (detail `high`). */
const IMAGE_TOKENS = 4_800;
/** What a message costs beside its text: role and separators (spec B1). */
const PER_MESSAGE = 4;

/** No other character takes one byte. */
const isAscii = (text: string): boolean => Buffer.byteLength(text, 'utf8') === text.length;

/** An estimate for limits, not bills (spec B1): four ASCII characters a token, three others two tokens. */
export function textTokens(text: string): number {
  if (isAscii(text)) return Math.ceil(text.length / 4);
  let [ascii, other] = [0, 0];
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    // A low surrogate belongs to the character counted with its high half.
    if (unit < 0x80) ascii += 1;
    else if (unit < 0xdc00 || unit > 0xdfff) other += 1;
  }
  return Math.ceil(ascii / 4 + other / 1.5);
}

/** Lines of a history never change, and each call estimates all of them several times. */
const knownTokens = new WeakMap<SessionMessage, number>();

export function messageTokens(message: SessionMessage): number {
  const { content, tool_calls: calls = [], provider_state: state } = message;
  // Sooner counted than looked up.
  if (!state && calls.length === 0 && isAscii(content)) return PER_MESSAGE + textTokens(content);
  const known = knownTokens.get(message);
  if (known !== undefined) return known;
  let tokens = PER_MESSAGE + textTokens(content);
  for (const call of calls) tokens += textTokens(call.name) + textTokens(call.arguments);
  // What goes back to the provider with an answer is input as well.
  if (state) tokens += textTokens(JSON.stringify(state.data));
  knownTokens.set(message, tokens);
  return tokens;
}

/** By the parameters, which never change: every call of every run tells the same tools. */
const toolTokens = new WeakMap<object, { readonly name: string; readonly description: string; readonly tokens: number }>();

function tokensOfTool({ name, description, parameters }: ModelRequest['tools'][number]): number {
  const known = toolTokens.get(parameters);
  if (known?.name === name && known.description === description) return known.tokens;
  const tokens = textTokens(name + description + JSON.stringify(parameters));
  toolTokens.set(parameters, { name, description, tokens });
  return tokens;
}

/** Estimates may be a fifth too low (spec C3). */
export const SAFETY_MARGIN = 1.2;

/** Output tokens that a window has room for beside a prompt: an eighth of it at least. */
export function outputBeside(tokensIn: number, window: number): number {
  return Math.floor(Math.max(window - tokensIn * SAFETY_MARGIN, window / 8));
}

export function estimateTokens(messages: readonly SessionMessage[]): number {
  return messages.reduce((sum, message) => sum + messageTokens(message), 0);
}

/** Input tokens of a call: messages, pictures and tool descriptions. */
export function estimateRequestTokens({ messages, tools, images }: Pick<ModelRequest, 'messages' | 'tools' | 'images'>): number {
  const pictures = [...(images?.values() ?? [])].flat().length;
  const described = tools.reduce((sum, tool) => sum + tokensOfTool(tool), 0);
  return estimateTokens(messages) + described + pictures * IMAGE_TOKENS;
}
