/**
 * The prompt cache as https://platform.claude.com/docs/en/build-with-claude/prompt-caching describes it:
 * entries are written at breakpoints only, a breakpoint finds the entries of earlier requests at most 20
 * positions before it, a run of neighbouring calls or results is one position, an entry lives 5 minutes (or 1
 * hour) from its last use, and a prefix below the model's minimum is not cached.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../core/ports.ts';
import { systemClock } from '../../lib/clock.ts';
import { thinkingType } from './anthropic-parameters.ts';
import { blocksOf, effortOf, invalid, isThinking, messagesOf, promptText } from './anthropic-shapes.ts';
import { claudeModel } from './claude-models.ts';
import { type Json, record, records } from './json-shapes.ts';
import { charsIn, type Memory, tokensIn } from './memory.ts';
import type { Refusal, StrictRequest, StrictServerOptions } from './strict-server.ts';

const LOOK_BACK = 20;
const MAX_BREAKPOINTS = 4;
const TTL_MS = { '5m': 5 * 60_000, '1h': 60 * 60_000 } as const;
type Ttl = keyof typeof TTL_MS;

export interface PromptTokens {
  readonly all: number;
  readonly read: number;
  readonly written5m: number;
  readonly written1h: number;
}

interface Block {
  /** Where it stands in the request. */
  readonly path: string;
  readonly type: unknown;
  /** Of the prompt up to and including this block. */
  readonly hash: string;
  readonly tokens: number;
  /** Grows with each block, and once with a run of calls or of results. */
  readonly position: number;
  readonly ttl: Ttl | undefined;
}

interface Entry {
  readonly ttl: Ttl;
  expiresAt: number;
}

const CACHES = new WeakMap<Memory, Map<string, Entry>>();

/** Counts the prompt, and reads and writes this server's cache. */
export function cachePrompt(request: StrictRequest, memory: Memory): PromptTokens {
  const blocks = promptBlocks(request);
  const all = blocks.at(-1)?.tokens ?? 0;
  const { cacheMinimum } = claudeModel(String(request.body['model']));
  const breakpoints = blocks.filter(({ ttl, tokens }) => ttl !== undefined && tokens >= cacheMinimum);
  const cache = CACHES.get(memory) ?? new Map<string, Entry>();
  CACHES.set(memory, cache);
  const now = ((memory.options as StrictServerOptions).clock ?? (systemClock as Clock)).now();
  const hits = breakpoints.map((breakpoint) => find(breakpoint, blocks, cache, now));
  const read = Math.max(0, ...hits.map((hit) => hit?.tokens ?? 0));
  for (const { hash, ttl = '5m' } of breakpoints) cache.set(hash, { ttl, expiresAt: now + TTL_MS[ttl] });
  const hourly = Math.max(read, ...breakpoints.filter(({ ttl }) => ttl === '1h').map(({ tokens }) => tokens));
  const last = Math.max(hourly, ...breakpoints.map(({ tokens }) => tokens));
  return { all, read, written5m: last - hourly, written1h: hourly - read };
}

/** The newest entry that is alive, within the look-back; using it makes it live on. */
function find(breakpoint: Block, blocks: readonly Block[], cache: Map<string, Entry>, now: number): Block | undefined {
  const end = blocks.indexOf(breakpoint);
  const reach = blocks.slice(0, end + 1).filter(({ position }) => position > breakpoint.position - LOOK_BACK);
  const hit = reach.findLast(({ hash }) => (cache.get(hash)?.expiresAt ?? 0) > now);
  const entry = hit && cache.get(hit.hash);
  if (entry) entry.expiresAt = now + TTL_MS[entry.ttl];
  return hit;
}

/** The prompt in the order of the cache: tools, system, messages. */
function promptBlocks(request: StrictRequest): readonly Block[] {
  const { body } = request;
  const tools = records(body['tools']).map((block, at) => ({ block, path: `tools.${at}`, text: promptText(block) }));
  const system = blocksOf(body['system']).map((block, at) => ({ block, path: `system.${at}`, text: promptText(block) }));
  const marker = messagesMarker(request);
  const messages = keptMessages(request).map(({ role, block, path }) => ({
    block,
    path,
    text: `${marker}${String(role)}${promptText(block)}`,
  }));
  const all = [...tools, ...system, ...messages];
  const automatic = automaticBreakpoint(body['cache_control'], all);
  let [hash, chars, position] = [String(body['model']), 0, 0];
  let before: unknown;
  return all.map(({ block, path, text }, at): Block => {
    hash = createHash('sha256').update(hash).update(text).digest('base64');
    chars += charsIn({ ...block, cache_control: undefined });
    const { type } = block;
    if (type !== before || (type !== 'tool_use' && type !== 'tool_result')) position += 1;
    before = type;
    const ttl = ttlOf(block['cache_control']) ?? (at === automatic ? ttlOf(body['cache_control']) : undefined);
    return { path, type, hash, tokens: tokensIn(chars), position, ttl };
  });
}

/**
 * What, when it changes, voids the messages but neither tools nor system. A default that is spelt out is no
 * change.
 */
function messagesMarker(request: StrictRequest): string {
  const { body } = request;
  const { defaultEffort } = claudeModel(String(body['model']));
  const isPicture = ({ type, content }: Json): boolean => type === 'image' || blocksOf(content).some(isPicture);
  const images = messagesOf(request).some(({ blocks }) => blocks.some(isPicture));
  const thinking = [thinkingType(request), record(body['thinking'])['budget_tokens']];
  return JSON.stringify([body['tool_choice'] ?? { type: 'auto' }, thinking, effortOf(request) ?? defaultEffort, images]);
}

/** Without the thinking that older models forget as soon as a person has said something new. */
function keptMessages(request: StrictRequest): readonly { role: unknown; block: Json; path: string }[] {
  const messages = messagesOf(request);
  const spoken = messages.findLastIndex(
    ({ role, blocks }) => role === 'user' && !blocks.some(({ type }) => type === 'tool_result'),
  );
  const { keepsThinking } = claudeModel(String(request.body['model']));
  return messages.flatMap(({ role, blocks }, at) =>
    blocks
      .map((block, index) => ({ role, block, path: `messages.${at}.content.${index}` }))
      .filter(({ block }) => keepsThinking || at > spoken || !isThinking(block)),
  );
}

/** The field at the top of the request marks the last block that can be marked. */
function automaticBreakpoint(field: unknown, all: readonly { readonly block: Json }[]): number {
  return field === undefined ? -1 : all.findLastIndex(({ block }) => !isThinking(block) && block['text'] !== '');
}

function ttlOf(field: unknown): Ttl | undefined {
  if (record(field)['type'] !== 'ephemeral') return undefined;
  return record(field)['ttl'] === '1h' ? '1h' : '5m';
}

/** Number, order and place of the marks. */
export function checkCacheControl(request: StrictRequest): Refusal | undefined {
  const places = [
    ...records(request.body['tools']).map((block, at) => ({ block, path: `tools.${at}` })),
    ...records(request.body['system']).map((block, at) => ({ block, path: `system.${at}` })),
    ...messagesOf(request).flatMap(({ blocks }, at) =>
      blocks.map((block, index) => ({ block, path: `messages.${at}.content.${index}` })),
    ),
  ];
  const marked = places.filter(({ block }) => block['cache_control'] !== undefined);
  const automatic = request.body['cache_control'] === undefined ? 0 : 1;
  if (marked.length + automatic > MAX_BREAKPOINTS) {
    return invalid(
      `A maximum of ${MAX_BREAKPOINTS} blocks with cache_control may be provided. Found ${marked.length + automatic}.`,
    );
  }
  let shorter = false;
  for (const { block, path } of marked) {
    const field = record(block['cache_control']);
    if (isThinking(block)) return invalid(`${path}.thinking.cache_control: Extra inputs are not permitted`);
    if (block['text'] === '') return invalid(`${path}.text: cache_control cannot be set for empty text blocks`);
    if (field['type'] !== 'ephemeral') return invalid(`${path}.cache_control.type: Input should be 'ephemeral'`);
    if (!['5m', '1h'].includes(String(field['ttl'] ?? '5m'))) {
      return invalid(`${path}.cache_control.ttl: Input should be '5m' or '1h'`);
    }
    if (field['ttl'] === '1h' && shorter) {
      return invalid(
        `${path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: \`tools\`, \`system\`, \`messages\`.`,
      );
    }
    shorter ||= field['ttl'] !== '1h';
  }
  return undefined;
}
