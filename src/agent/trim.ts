/** Fits a repaired history into the model's window without a model (spec C3). Pure and idempotent. */
import { wholeGroups } from '../core/history-cut.ts';
import type { SessionMessage } from '../core/session.ts';
import { estimateTokens, messageTokens, SAFETY_MARGIN, textTokens } from '../llm/tokens.ts';
import { isCompacted } from './compact.ts';
import { cutText, firstLine } from './cut-text.ts';
import { asNote, isNote, lastUserIndex } from './repair.ts';

/** Share of the window that the history may fill (spec C3). */
const WINDOW_SHARE = 0.8;
/** No summary for a history this short. */
const SHORT_HISTORY = 7;
/** Between a quarter and a half of the room stays word for word: see `keptTokens`. */
const KEEP_SHARE = 0.5;
const KEEP_STEP = 0.25;
const KEEP_AT_LEAST = 6;
const SUMMARY_SHARE = 0.4;
/** When even summary and tail are too big. */
const DROP_DOWN_TO = 2;
/** The last resort: results of the running turn are cut to the first of these that fits. Characters. */
const RESULT_CUTS = [20_000, 8_000, 3_000, 800];
const SUMMARY_ID = '#summary';

/**
 * `messages` must come from `repairHistory`. Keeps the system message, the newest message a person wrote, and
 * whole groups of a call with its results. What is older becomes one summary.
 */
export function trimHistory(messages: readonly SessionMessage[], contextWindow: number): readonly SessionMessage[] {
  const budget = Math.floor((contextWindow * WINDOW_SHARE) / SAFETY_MARGIN);
  if (estimateTokens(messages) <= budget) return messages;
  const shortened = messages.length > SHORT_HISTORY ? summarise(messages, budget) : messages;
  return cutResults(shortened, budget);
}

function summarise(messages: readonly SessionMessage[], budget: number): readonly SessionMessage[] {
  const system = messages[0]?.role === 'system' ? messages.slice(0, 1) : [];
  const body = messages.slice(system.length);
  // Already summarised: the summary of a summary would say less and save nothing.
  if (body[0] !== undefined && isSummary(body[0])) return messages;
  const groups = wholeGroups(body);
  const keep = tailLength(groups, keptTokens(estimateTokens(body), budget));
  let tail = groups.slice(groups.length - keep);
  const older = groups.slice(0, groups.length - keep).flat();
  // The task itself must stay word for word, however many tool calls ago it was given.
  const at = lastUserIndex(body);
  // With what the person has added to it since, which is as much the task.
  const words = new Set(at < 0 ? [] : body.slice(at).filter((message) => message.role === 'user' && !isNote(message)));
  const pinned = older.filter((message) => words.has(message));
  const summarised = older.filter((message) => !words.has(message));
  const summary = summarised.length === 0 ? [] : [summaryMessage(summarised, Math.floor(budget * SUMMARY_SHARE))];
  const head = [...system, ...summary, ...pinned];
  while (estimateTokens([...head, ...tail.flat()]) > budget) {
    const [oldest, ...rest] = tail;
    if (oldest === undefined || rest.flat().length < DROP_DOWN_TO || oldest.some((one) => words.has(one))) break;
    tail = rest;
  }
  return [...head, ...tail.flat()];
}

function isSummary(message: SessionMessage): boolean {
  return isNote(message) && message.id.includes(SUMMARY_ID);
}

/**
 * How much of the end stays. What is dropped grows in steps, so that the beginning of the prompt stays the
 * same over many calls of a turn: every change of it voids the provider's cache.
 */
function keptTokens(total: number, budget: number): number {
  const step = budget * KEEP_STEP;
  return total - Math.ceil((total - budget * KEEP_SHARE) / step) * step;
}

/** How many groups from the end stay: while they fit, and at least `KEEP_AT_LEAST` messages. */
function tailLength(groups: readonly (readonly SessionMessage[])[], budget: number): number {
  let kept = 0;
  let count = 0;
  let tokens = 0;
  for (const group of groups.toReversed()) {
    tokens += estimateTokens(group);
    if (tokens > budget && count >= KEEP_AT_LEAST) break;
    kept += 1;
    count += group.length;
  }
  return kept;
}

function summaryMessage(messages: readonly SessionMessage[], budget: number): SessionMessage {
  const names = new Map(messages.flatMap((message) => (message.tool_calls ?? []).map((call) => [call.id, call.name] as const)));
  const earlier = compactedText(messages, budget);
  const kept: string[] = [];
  let tokens = textTokens(earlier);
  // From the newest back: when the space runs out, the oldest lines are the ones missing.
  for (const message of messages.filter((one) => !isCompacted(one)).toReversed()) {
    const lines = summaryLines(message, names);
    tokens += lines.reduce((sum, line) => sum + textTokens(line) + 1, 0);
    if (tokens > budget) break;
    kept.unshift(...lines);
  }
  const newest = messages.at(-1);
  const heading = `Conversation Summary (compacted from ${messages.length} messages)`;
  const content = [heading, ...(earlier === '' ? [] : [earlier]), ...kept].join('\n');
  return asNote({ id: `${newest?.id ?? ''}${SUMMARY_ID}`, role: 'system', content, timestamp: newest?.timestamp ?? '' });
}

/** What models have summarised, whole where it fits: it is told nowhere else. '' = there is nothing. */
function compactedText(messages: readonly SessionMessage[], budget: number): string {
  const compacted = messages.filter(isCompacted).map(({ content }) => `> Context: ${content}`);
  const text = compacted.join('\n');
  return cutText(text, Math.floor((text.length * budget) / Math.max(budget, textTokens(text))));
}

/** Lengths and line forms of spec C3. */
function summaryLines(message: SessionMessage, names: ReadonlyMap<string, string>): readonly string[] {
  const media = (message.media?.length ?? 0) > 0 ? ' [media omitted]' : '';
  if (message.role === 'tool') {
    const state = message.content.startsWith('Error:') ? 'error' : 'ok';
    return [`-> ${names.get(message.tool_call_id ?? '') ?? 'tool'}: ${state} - ${firstLine(message.content, 100)}`];
  }
  if (message.role === 'assistant') {
    const text = message.content.trim() === '' ? [] : [`> Assistant: ${firstLine(message.content, 200)}${media}`];
    return [...text, ...(message.tool_calls ?? []).map((call) => `- Called ${call.name}`)];
  }
  return [`> ${isNote(message) || message.role === 'system' ? 'Context' : 'User'}: ${firstLine(message.content, 200)}${media}`];
}

function cutResults(messages: readonly SessionMessage[], budget: number): readonly SessionMessage[] {
  let result = messages;
  for (const max of RESULT_CUTS) {
    if (result.reduce((sum, message) => sum + messageTokens(message), 0) <= budget) break;
    result = messages.map((message) =>
      message.role === 'tool' ? { ...message, content: cutText(message.content, max) } : message,
    );
  }
  return result;
}
