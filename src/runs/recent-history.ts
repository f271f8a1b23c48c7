import { isCompacted } from '../agent/compact.ts';
import { allowedCuts } from '../core/history-cut.ts';
import { shortHash } from '../core/ids.ts';
import type { SessionMessage } from '../core/session.ts';

/**
 * The newest messages: at most `most`, and more than half of that where there are more. Over several turns
 * they begin with the same message, because a prompt with another beginning is not found in the provider's
 * cache and is paid for in full. The first message is the one with the lowest hash among those that may be
 * it: new ones at the end do not change that, and no place has to be remembered. The newest summary is always
 * among them, because what it stands for is told nowhere else.
 */
export function recentHistory(messages: readonly SessionMessage[], most: number): readonly SessionMessage[] {
  if (messages.length <= most) return messages;
  const summary = most > 1 ? messages.findLast(isCompacted) : undefined;
  const newest = messages.slice(summary ? 1 - most : -most);
  const allowed = allowedCuts(newest);
  const places = newest.slice(0, Math.max(1, Math.floor(most / 2))).flatMap(({ id }, at) =>
    // A result without its call says nothing.
    allowed[at] ? [{ at, hash: shortHash(id) }] : [],
  );
  const [first] = places.toSorted((a, b) => (a.hash < b.hash ? -1 : 1));
  const kept = newest.slice(first?.at ?? 0);
  return summary && !kept.includes(summary) ? [summary, ...kept] : kept;
}
