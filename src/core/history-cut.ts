/**
 * Where a history may be cut. Whatever leaves out messages cuts here, so that no call is ever parted from its
 * results: `/new`, fork, rotation, compaction and trimming.
 */
import type { SessionMessage } from './session.ts';

/**
 * For each index: may a history begin there? Not at a tool result, nor between an assistant and one of its
 * results. A result belongs to the newest call of its id that still waits for one, as in `repairHistory`.
 */
export function allowedCuts(messages: readonly SessionMessage[]): boolean[] {
  const allowed = messages.map(({ role }) => role !== 'tool');
  const waiting = new Map<string, number[]>();
  for (const [index, { role, tool_calls: calls = [], tool_call_id: id }] of messages.entries()) {
    if (role === 'assistant') for (const call of calls) waiting.set(call.id, [...(waiting.get(call.id) ?? []), index]);
    const caller = role === 'tool' && id !== undefined ? waiting.get(id)?.pop() : undefined;
    if (caller !== undefined) allowed.fill(false, caller + 1, index + 1);
  }
  return allowed;
}

/** The nearest cut at `wanted` or after it; the length of the history where there is none. */
export function cutForward(messages: readonly SessionMessage[], wanted: number): number {
  const next = allowedCuts(messages).indexOf(true, Math.max(0, wanted));
  return next < 0 ? messages.length : next;
}

/** The nearest cut at `wanted` or before it; 0 where there is none. */
export function cutBack(messages: readonly SessionMessage[], wanted: number): number {
  return wanted < 0 ? 0 : Math.max(0, allowedCuts(messages).lastIndexOf(true, wanted));
}

/** The history in pieces that stay together: a call with its results, or a single message. */
export function wholeGroups(messages: readonly SessionMessage[]): readonly (readonly SessionMessage[])[] {
  const allowed = allowedCuts(messages);
  const groups: SessionMessage[][] = [];
  for (const [index, message] of messages.entries()) {
    const last = groups.at(-1);
    if (!allowed[index] && last) last.push(message);
    else groups.push([message]);
  }
  return groups;
}
