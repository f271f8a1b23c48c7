import type { Session, SessionMessage } from '../src/core/session.ts';
import { newHeader } from './session-file.ts';

/** For each index: may history begin here? Not at a tool result, nor between an assistant and one of its results. */
function allowedCuts(messages: readonly SessionMessage[]): boolean[] {
  const allowed = messages.map((message) => message.role !== 'tool');
  const callers = new Map<string, number>();
  messages.forEach((message, index) => {
    for (const call of message.tool_calls ?? []) callers.set(call.id, index);
    const caller = message.role === 'tool' ? callers.get(message.tool_call_id ?? '') : undefined;
    if (caller !== undefined) allowed.fill(false, caller + 1, index + 1);
  });
  return allowed;
}

/** Index of the first message kept when at most `keep` shall remain: moved forward past results without their call. */
function cutForward(messages: readonly SessionMessage[], keep: number): number {
  const wanted = Math.max(0, messages.length - Math.max(0, keep));
  const next = allowedCuts(messages).indexOf(true, wanted);
  return next < 0 ? messages.length : next;
}

/** The same, but keeps the last group whole, however long it is, rather than nothing. */
export function cutKeepingLast(messages: readonly SessionMessage[], keep: number): number {
  const cut = cutForward(messages, keep);
  if (cut < messages.length) return cut;
  return Math.max(0, allowedCuts(messages).lastIndexOf(true));
}

/** What `SessionStore.fork` puts into the new session (spec C1). */
export function forkOf(source: Session, target: string, keep: number, now: number): Session {
  const { session_key: parent_key, thinking, model } = source.header;
  const choices = { ...(thinking ? { thinking } : {}), ...(model === undefined ? {} : { model }) };
  return {
    header: newHeader(target, now, { parent_key, ...choices }),
    messages: source.messages.slice(cutForward(source.messages, keep)),
  };
}
