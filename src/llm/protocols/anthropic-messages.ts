import { createHash, type Hash } from 'node:crypto';
import type Anthropic from '@anthropic-ai/sdk';
import type { Image, ToolSpec } from '../../core/model.ts';
import { sentIds, stateText } from './call-ids.ts';
import { NO_RESULT, type PastCall, type Step } from './history.ts';
import { type PlacedPart, placeParts } from './kept-answer.ts';

type Block = Anthropic.ContentBlockParam;

/** Stands where the API wants a user message first and the history was cut. */
const CUT = '[the earlier messages are not shown]';
/** Other providers give their calls ids with dots and colons. */
const IDS = { accepts: /^[a-zA-Z0-9_-]+$/, length: 24 };
export const CACHED = { cache_control: { type: 'ephemeral' } } as const;

interface AnthropicMessages {
  readonly messages: { role: 'user' | 'assistant'; content: Block[] }[];
  /** Of everything that is sent, thinking left out; undefined without `signed`. */
  readonly digest: string | undefined;
}

/**
 * Steps as messages that alternate between user and assistant and begin with the user. The results of an
 * answer's calls are the first blocks after it: the API refuses anything before them. Text without a visible
 * character is refused too and left out. `signed`: what stands before the messages, for models whose thinking
 * is only valid while everything that was sent before it is unchanged.
 */
export function toAnthropicMessages(steps: readonly Step[], signed?: string): AnthropicMessages {
  const ids = sentIds(steps, IDS);
  const messages: AnthropicMessages['messages'] = [];
  const hash = signed === undefined ? undefined : createHash('sha256').update(signed);
  const thoughts: Block[] = [];
  const add = (role: 'user' | 'assistant', blocks: readonly Block[]): void => {
    if (blocks.length === 0) return;
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else messages.push({ role, content: [...blocks] });
    for (const block of blocks) {
      if (isThinking(block)) thoughts.push(block);
      else hash?.update(role + JSON.stringify(block));
    }
  };
  let valid = 0;
  for (const step of steps) {
    if (step.role === 'user') {
      // Pictures before the text that speaks about them, as the documentation advises.
      add('user', [...step.images.map(toImage), ...toText(step.text)]);
      continue;
    }
    const calls = new Map<string, PastCall>();
    const blocks = placeParts(step).flatMap((part) => toBlocks(part, ids, calls));
    if (messages.length === 0 && blocks.length > 0) add('user', toText(CUT));
    const same = hash && stateText(step, 'before') === digestOf(hash) && blocks.some(isThinking);
    add('assistant', blocks);
    // With thinking that is not valid any more goes all before it: a gap is refused too.
    if (hash && step.state !== undefined && !same) valid = thoughts.length;
    add('user', [...calls].map(toToolResult));
  }
  if (messages.length === 0) add('user', toText(CUT));
  const refused = new Set(thoughts.slice(0, valid));
  if (valid > 0) for (const message of messages) message.content = message.content.filter((block) => !refused.has(block));
  return { messages, digest: hash && digestOf(hash) };
}

/** False while the latest answer waits for results of calls that it made without thinking first. */
export function mayBeginThinking({ messages }: AnthropicMessages): boolean {
  const [asked, results] = messages.slice(-2);
  const first = asked?.content[0];
  return !results?.content.some(({ type }) => type === 'tool_result') || first === undefined || isThinking(first);
}

/**
 * Marks the ends of the last three messages of the user for the prompt cache. The next call finds the last
 * end, the others are those of earlier calls: so this one finds them however many blocks an answer added (the
 * API looks back 20).
 */
export function markForCache({ messages }: AnthropicMessages): void {
  for (const { content } of messages.filter(({ role }) => role === 'user').slice(-3)) {
    content.push({ ...(content.pop() as Anthropic.TextBlockParam), ...CACHED });
  }
}

function isThinking({ type }: Block): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

function digestOf(hash: Hash): string {
  return hash.copy().digest('base64url').slice(0, 22);
}

/** Adds to `calls` what needs a result. A call that came twice and ran once is there twice. */
function toBlocks(part: PlacedPart, ids: ReadonlyMap<PastCall, string>, calls: Map<string, PastCall>): Block[] {
  const { whole, past, text } = part;
  if (whole) return [whole as unknown as Block];
  if (!past) return toText(text);
  const given = ids.get(past) ?? past.id;
  const id = calls.has(given) && part.call !== undefined ? part.call : given;
  calls.set(id, past);
  return [{ type: 'tool_use', id, name: past.name, input: JSON.parse(past.arguments) }];
}

function toText(text: string): Anthropic.TextBlockParam[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}

function toImage({ mime, base64 }: Image): Anthropic.ImageBlockParam {
  return { type: 'image', source: { type: 'base64', media_type: mime, data: base64 } };
}

function toToolResult([id, { result, images }]: readonly [string, PastCall]): Block {
  if (result === undefined) return { type: 'tool_result', tool_use_id: id, content: NO_RESULT, is_error: true };
  const content = [...toText(result), ...images.map(toImage)];
  if (images.length > 0) return { type: 'tool_result', tool_use_id: id, content };
  return { type: 'tool_result', tool_use_id: id, ...(content.length === 0 ? {} : { content: result }) };
}

export function toAnthropicTools(tools: readonly ToolSpec[]): Anthropic.Tool[] {
  return tools.map(({ name, description, parameters }) => ({
    name,
    description,
    // The API wants the type named, also of a tool without arguments.
    input_schema: { ...parameters, type: 'object' },
  }));
}
