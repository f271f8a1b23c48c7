/** A run that another begins: what it takes over from that one, whatever a tool asked for. */
import { type Authority, lowerMode } from '../core/authority.ts';
import { childFactsOf, jobOf } from '../core/child.ts';
import type { Address } from '../core/message.ts';
import type { NewRun } from '../core/new-run.ts';
import { type RunRow, targetOf } from '../core/run.ts';

/**
 * A run never gets more than the one that began it has, works in its directory and on its account, and knows
 * what that one has read.
 */
export function childOf(row: RunRow, child: NewRun, taint: number): NewRun {
  const { label = '', ...facts } = child.prompt.child ?? {};
  const [chat, job] = [homeOf(row), jobOf(row)];
  return {
    ...child,
    workspace: row.workspace ?? row.session,
    authority: narrowed(row.authority, child.authority),
    taint: (child.taint ?? 0) | taint,
    prompt: { ...child.prompt, child: { ...facts, label, ...(chat ? { chat } : {}), ...(job === undefined ? {} : { job }) } },
  };
}

/** The chat of the root. */
export function homeOf(row: RunRow): Address | undefined {
  const target = targetOf(row);
  if (!target) return childFactsOf(row)?.chat;
  const { channel, account, chatId, threadId, isGroup, replyContext } = target;
  return {
    ...{ channel, account, chatId },
    ...(threadId === undefined ? {} : { threadId }),
    ...(isGroup === undefined ? {} : { isGroup }),
    ...(replyContext === undefined ? {} : { replyContext }),
  };
}

function narrowed(parent: Authority, child: Authority): Authority {
  const own = child.policies.filter((policy) => !parent.policies.includes(policy));
  return { ...parent, mode: lowerMode(parent.mode, child.mode), policies: [...parent.policies, ...own] };
}
