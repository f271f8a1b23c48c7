import { cutBack, cutForward } from '../src/core/history-cut.ts';
import type { Session, SessionMessage } from '../src/core/session.ts';
import { newHeader } from './session-file.ts';

/** Index of the first message kept when at most `keep` remain, moved past results without their call. */
function cutKeeping(messages: readonly SessionMessage[], keep: number): number {
  return cutForward(messages, messages.length - Math.max(0, keep));
}

/** The same, but keeps the last group whole, however long it is, rather than nothing. */
export function cutKeepingLast(messages: readonly SessionMessage[], keep: number): number {
  const cut = cutKeeping(messages, keep);
  if (cut < messages.length) return cut;
  return cutBack(messages, messages.length - 1);
}

/** What `SessionStore.fork` puts into the new session (spec C1). */
export function forkOf(source: Session, target: string, keep: number, now: number): Session {
  const { session_key: parent_key, thinking, model } = source.header;
  const choices = { ...(thinking ? { thinking } : {}), ...(model === undefined ? {} : { model }) };
  return {
    header: newHeader(target, now, { parent_key, ...choices }),
    messages: source.messages.slice(cutKeeping(source.messages, keep)),
  };
}
