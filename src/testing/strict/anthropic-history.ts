/**
 * Rules about the messages: roles, content, calls and their results. The texts are those of the API as users
 * reported them, among them https://github.com/anthropics/claude-code/issues/5060 (no result), 13460 (no
 * call), 59812 (empty text), and of
 * https://github.com/anthropics/skills/blob/main/skills/claude-api/shared/error-codes.md (roles).
 */
import { blocksOf, type ClaudeMessage, invalid, messagesOf } from './anthropic-shapes.ts';
import { claudeModel } from './claude-models.ts';
import { firstOf, type Json, record, records } from './json-shapes.ts';
import type { Refusal, StrictRequest } from './strict-server.ts';

const CALL_ID = /^[a-zA-Z0-9_-]+$/;
const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const USER_BLOCKS = ['text', 'image', 'document', 'tool_result'];
const ASSISTANT_BLOCKS = ['text', 'thinking', 'redacted_thinking', 'tool_use'];

export function checkHistory(request: StrictRequest): Refusal | undefined {
  const { body } = request;
  if (!Array.isArray(body['messages'])) return invalid('messages: Field required');
  const messages = messagesOf(request);
  if (messages.length === 0) return invalid('messages: at least one message is required');
  const model = claudeModel(String(body['model']));
  return firstOf(
    (function* () {
      yield checkRoles(messages, model.systemInMessages);
      for (const [at, message] of messages.entries()) yield checkContent(message, at, at === messages.length - 1);
      yield checkSystem(body['system']);
      yield checkCalls(messages);
      yield checkEnd(messages, model.prefill);
    })(),
  );
}

function checkRoles(messages: readonly ClaudeMessage[], systemAllowed: boolean): Refusal | undefined {
  for (const { role } of messages) {
    if (role === 'system' && !systemAllowed) return invalid("role 'system' is not supported on this model");
    if (role !== 'user' && role !== 'assistant' && role !== 'system') {
      return invalid(`messages: Unexpected role "${String(role)}". Allowed roles are "user" or "assistant".`);
    }
  }
  if (messages[0]?.role !== 'user') return invalid('messages: first message must use the "user" role');
  const speakers = messages.filter(({ role }) => role !== 'system').map(({ role }) => role);
  const repeated = speakers.some((role, at) => at > 0 && role === speakers[at - 1]);
  return repeated ? invalid('messages: roles must alternate between "user" and "assistant"') : undefined;
}

/** A last message of the assistant is a prefill, which models from 4.6 on refuse. */
function checkEnd(messages: readonly ClaudeMessage[], prefillAllowed: boolean): Refusal | undefined {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return undefined;
  if (!prefillAllowed) {
    return invalid('This model does not support assistant message prefill. The conversation must end with a user message.');
  }
  const { text } = last.blocks.at(-1) ?? {};
  return /\s$/.test(String(text)) ? invalid('messages: final assistant content cannot end with trailing whitespace') : undefined;
}

function checkContent({ role, blocks }: ClaudeMessage, at: number, last: boolean): Refusal | undefined {
  if (blocks.length === 0 && !(last && role === 'assistant')) {
    return invalid(`messages.${at}: all messages must have non-empty content except for the optional final assistant message`);
  }
  const allowed = role === 'assistant' ? ASSISTANT_BLOCKS : USER_BLOCKS;
  return firstOf(
    blocks.map((block, index) => {
      const path = `messages.${at}.content.${index}`;
      const type = String(block['type']);
      if (!allowed.includes(type)) {
        const other = role === 'assistant' ? 'user' : 'assistant';
        return invalid(`${path}: \`${type}\` blocks can only be in \`${other}\` messages`);
      }
      return checkBlock(block, path);
    }),
  );
}

function checkBlock(block: Json, path: string): Refusal | undefined {
  switch (block['type']) {
    case 'text':
      return checkText(block['text'], 'messages');
    case 'image':
      return checkImage(block, `${path}.image.source`);
    case 'tool_use':
      if (!CALL_ID.test(String(block['id']))) return badId(`${path}.tool_use.id`);
      if (typeof block['name'] !== 'string' || block['name'] === '') return invalid(`${path}.tool_use.name: Field required`);
      if (typeof block['input'] === 'object' && block['input'] !== null && !Array.isArray(block['input'])) return undefined;
      return invalid(`${path}.tool_use.input: Input should be a valid dictionary`);
    case 'tool_result':
      if (!CALL_ID.test(String(block['tool_use_id']))) return badId(`${path}.tool_result.tool_use_id`);
      return block['content'] === undefined || typeof block['content'] === 'string'
        ? undefined
        : firstOf(blocksOf(block['content']).map((part, index) => checkBlock(part, `${path}.tool_result.content.${index}`)));
    default:
      return undefined;
  }
}

function badId(path: string): Refusal {
  return invalid(`${path}: String should match pattern '^[a-zA-Z0-9_-]+$'`);
}

function checkText(text: unknown, where: string): Refusal | undefined {
  if (typeof text !== 'string' || text === '') return invalid(`${where}: text content blocks must be non-empty`);
  return text.trim() === '' ? invalid(`${where}: text content blocks must contain non-whitespace text`) : undefined;
}

function checkImage(block: Json, path: string): Refusal | undefined {
  const { type, media_type: mime, data } = record(block['source']);
  if (type === 'url') return undefined;
  if (type !== 'base64')
    return invalid(`${path}: Input tag '${String(type)}' found using 'type' does not match any of the expected tags`);
  if (!IMAGE_TYPES.includes(String(mime))) {
    return invalid(`${path}.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`);
  }
  if (typeof data !== 'string' || data === '') return invalid(`${path}.base64.data: image cannot be empty`);
  return /^[A-Za-z0-9+/]+={0,2}$/.test(data) ? undefined : invalid(`${path}.base64.data: invalid base64 data`);
}

function checkSystem(system: unknown): Refusal | undefined {
  if (system === undefined || typeof system === 'string') return undefined;
  return firstOf(records(system).map(({ text }) => checkText(text, 'system')));
}

/**
 * Each call is answered at the beginning of the next message, once; each result belongs to a call of the
 * message before.
 */
function checkCalls(messages: readonly ClaudeMessage[]): Refusal | undefined {
  const seen = new Set<unknown>();
  for (const [at, { blocks }] of messages.entries()) {
    const orphan = checkResults(messages, at);
    if (orphan !== undefined) return orphan;
    const ids = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id);
    for (const [index, { type, id }] of blocks.entries()) {
      if (type !== 'tool_use') continue;
      if (seen.has(id)) return invalid(`messages.${at}.content.${index}: \`tool_use\` ids must be unique`);
      seen.add(id);
    }
    const next = messages[at + 1]?.blocks ?? [];
    const end = next.findIndex(({ type }) => type !== 'tool_result');
    const answered = next.slice(0, end === -1 ? next.length : end).map(({ tool_use_id: id }) => id);
    const open = ids.filter((id) => !answered.includes(id));
    if (open.length === 0) continue;
    return invalid(
      `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    );
  }
  return undefined;
}

function checkResults(messages: readonly ClaudeMessage[], at: number): Refusal | undefined {
  const before = messages[at - 1]?.blocks ?? [];
  const answered = new Set<unknown>();
  for (const [index, { type, tool_use_id: id }] of (messages[at]?.blocks ?? []).entries()) {
    if (type !== 'tool_result') continue;
    const path = `messages.${at}.content.${index}`;
    if (!before.some((block) => block['type'] === 'tool_use' && block['id'] === id)) {
      return invalid(
        `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(id)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
    }
    if (answered.has(id)) {
      return invalid(
        `${path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${String(id)}`,
      );
    }
    answered.add(id);
  }
  return undefined;
}
