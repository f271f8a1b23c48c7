/**
 * Thinking blocks: issued with a signature that is bound to the model and, on newer models, to the
 * conversation before the block. https://platform.claude.com/docs/en/build-with-claude/preserved-thinking,
 * …/thinking#preserving-thinking-blocks
 */
import { betas, thinkingType } from './anthropic-parameters.ts';
import { type ClaudeMessage, invalid, isThinking, messagesOf, promptText } from './anthropic-shapes.ts';
import { claudeModel } from './claude-models.ts';
import { type Json, record, records } from './json-shapes.ts';
import type { Memory } from './memory.ts';
import type { Refusal, StrictRequest } from './strict-server.ts';

interface Conversation {
  readonly system: string;
  readonly tools: string;
  /** By message, by block; thinking blocks are left out. */
  readonly messages: readonly (readonly string[])[];
}

interface Issued {
  readonly model: string;
  readonly text: string;
  readonly before: Conversation;
  /** Signature of the thinking block before this one. */
  readonly previous: string | undefined;
}

interface Placed {
  readonly block: Json;
  readonly at: number;
  readonly index: number;
}

/** Remembers a block of the answer to `request`. `text` is what the answer shows, "" where it is omitted. */
export function issueThinking(text: string, request: StrictRequest, memory: Memory): Json {
  const signature = memory.nextId('EqQBCgIYAhIM', 40);
  const messages = messagesOf(request);
  const issued: Issued = {
    model: String(request.body['model']),
    text,
    before: conversation(request, messages.length),
    previous: thinkingIn(messages).at(-1)?.block['signature'] as string | undefined,
  };
  memory.issued.set(signature, issued);
  return { type: 'thinking', thinking: text, signature };
}

/** Remembers that the answer's calls came with that thinking block. */
export function issueCall(id: string, thinking: Json | undefined, memory: Memory): void {
  memory.issued.set(id, { call: id, signature: thinking?.['signature'] });
}

/**
 * Counts `missingThinking` (calls of the turn in progress without their block) and `droppedThinking`
 * (`drop_block`).
 */
export function checkThinking(request: StrictRequest, memory: Memory): Refusal | undefined {
  const messages = messagesOf(request);
  const placed = thinkingIn(messages);
  const latest = messages.findLastIndex(({ role }) => role === 'assistant');
  for (const one of placed) {
    const refusal = checkBlock(one, latest, request, memory);
    if (refusal !== undefined) return refusal;
  }
  const moved = checkOrder(messages[latest]?.blocks ?? [], latest, memory);
  return (
    moved ?? checkManual(request, messages, latest) ?? checkBinding(request, placed, memory) ?? countMissing(messages, memory)
  );
}

function thinkingIn(messages: readonly ClaudeMessage[]): readonly Placed[] {
  return messages.flatMap(({ blocks }, at) =>
    blocks.map((block, index) => ({ block, at, index })).filter(({ block }) => isThinking(block)),
  );
}

/**
 * A block of another model: the documentation says that the API drops what the model cannot read. This server
 * refuses it, as it does a signature of another server, because state must only go back to the model that
 * gave it.
 */
function checkBlock({ block, at, index }: Placed, latest: number, request: StrictRequest, memory: Memory): Refusal | undefined {
  const path = `messages.${at}.content.${index}`;
  if (block['type'] === 'redacted_thinking') return invalid(`${path}: Invalid \`data\` in \`redacted_thinking\` block`);
  if (typeof block['signature'] !== 'string') return invalid(`${path}.thinking.signature: Field required`);
  const issued = memory.issued.get(block['signature']) as Issued | undefined;
  if (issued?.model !== request.body['model']) return invalid(`${path}: Invalid \`signature\` in \`thinking\` block`);
  if (issued?.text === block['thinking']) return undefined;
  return at === latest ? modified(path) : invalid(`${path}: Invalid \`signature\` in \`thinking\` block`);
}

function modified(path: string): Refusal {
  return invalid(
    `${path}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
  );
}

/** A block stands before the calls that came with it. */
function checkOrder(blocks: readonly Json[], at: number, memory: Memory): Refusal | undefined {
  for (const [index, { signature }] of blocks.entries()) {
    if (typeof signature !== 'string') continue;
    const mine = ({ type, id }: Json): boolean =>
      type === 'tool_use' && record(memory.issued.get(String(id)))['signature'] === signature;
    if (blocks.slice(0, index).some(mine)) return modified(`messages.${at}.content.${index}`);
  }
  return undefined;
}

/**
 * With a manual budget the answer that waits for results begins with its thinking: anomalyco/opencode issue
 * 3077.
 */
function checkManual(request: StrictRequest, messages: readonly ClaudeMessage[], latest: number): Refusal | undefined {
  const first = messages[latest]?.blocks[0];
  const waits = messages.at(-1)?.blocks.some(({ type }) => type === 'tool_result');
  if (thinkingType(request) !== 'enabled' || !waits || first === undefined || isThinking(first)) return undefined;
  return invalid(
    `messages.${latest}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${String(first['type'])}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`.`,
  );
}

/**
 * Blocks of these models are void once anything before them has changed: system, tools, an earlier message,
 * or a thinking block left out between others. Leaving out the oldest ones, or all, is allowed.
 */
function checkBinding(request: StrictRequest, placed: readonly Placed[], memory: Memory): Refusal | undefined {
  if (!claudeModel(String(request.body['model'])).bound) return undefined;
  const binding = record(record(request.body['thinking'])['block_binding']);
  for (const [order, { block, at, index }] of placed.entries()) {
    const issued = memory.issued.get(String(block['signature'])) as Issued;
    const gap = order > 0 && placed[order - 1]?.block['signature'] !== issued.previous;
    const change = difference(issued.before, conversation(request, at)) ?? (gap ? '' : undefined);
    if (change === undefined) continue;
    if (binding['prefix_mismatch_behavior'] === 'drop_block') {
      memory.add('droppedThinking');
      continue;
    }
    const header = betas(request).includes('thinking-binding-controls-2026-08-01')
      ? ''
      : ' That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header.';
    return invalid(
      `messages.${at}.content.${index}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".${header}${change}`,
    );
  }
  return undefined;
}

function conversation(request: StrictRequest, end: number): Conversation {
  const messages = messagesOf(request).slice(0, end);
  return {
    system: promptText(request.body['system'] ?? ''),
    tools: promptText(request.body['tools'] ?? []),
    messages: messages.map(({ blocks }) => blocks.filter((block) => !isThinking(block)).map(promptText)),
  };
}

/** The sentence that names the first difference. */
function difference(then: Conversation, now: Conversation): string | undefined {
  if (then.system !== now.system) return ' The `system` prompt differs from the one this block was created with.';
  if (then.tools !== now.tools) return ' The `tools` list differs from the one this block was created with.';
  for (let at = 0; at < Math.max(then.messages.length, now.messages.length); at += 1) {
    const [old, current] = [then.messages[at] ?? [], now.messages[at] ?? []];
    for (let index = 0; index < Math.max(old.length, current.length); index += 1) {
      if (old[index] === current[index]) continue;
      return ` Content before this block differs from when it was created, first at \`messages.${at}.content.${index}\`.`;
    }
  }
  return undefined;
}

/**
 * Leaving the blocks of a turn in progress out was accepted when it was tried, but the model loses its
 * thoughts.
 */
function countMissing(messages: readonly ClaudeMessage[], memory: Memory): undefined {
  const start = messages.findLastIndex(
    ({ role, blocks }) => role === 'user' && !blocks.some(({ type }) => type === 'tool_result'),
  );
  for (const { blocks } of messages.slice(start + 1)) {
    const here = blocks.map(({ signature }) => signature);
    const wanted = records(blocks)
      .filter(({ type }) => type === 'tool_use')
      .map(({ id }) => record(memory.issued.get(String(id)))['signature']);
    if (wanted.some((signature) => signature !== undefined && !here.includes(signature))) memory.add('missingThinking');
  }
}
