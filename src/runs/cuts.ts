/** Where a session begins anew: marks among the lines of the journal that are on their way into its file. */

import { cutForward } from '../core/history-cut.ts';
import { archivedSession } from '../core/ids.ts';
import type { SessionHeader, SessionMessage, SessionStore } from '../core/session.ts';
import { oneLine } from '../lib/one-line.ts';

type Lines = readonly SessionMessage[];

/** The newest `keep` messages; never begins with the result of a call that is not among them. */
export function newestKept(messages: Lines, keep: number): Lines {
  return messages.slice(cutForward(messages, messages.length - keep));
}

/**
 * The lines behind the mark by which the file was begun anew last: what stands before it is in the file, or
 * was.
 */
export function behindLastCut(lines: Lines, header: Pick<SessionHeader, 'cut'> | undefined): Lines {
  const at = header?.cut === undefined ? -1 : lines.findIndex(({ id }) => id === header.cut);
  return lines.slice(at + 1);
}

/** What a reader sees of a session whose file has `messages`, and `lines` still on their way. */
export function withLines(messages: Lines, lines: Lines): Lines {
  let read = messages;
  let from = 0;
  lines.forEach((line, at) => {
    if (!line.cut) return;
    read = line.cut.gone ? [] : newestKept([...read, ...lines.slice(from, at)], line.cut.keep);
    from = at + 1;
  });
  return [...read, ...lines.slice(from)];
}

/**
 * Puts lines with marks among them into the file. The same lines again, after a kill anywhere, change
 * nothing more.
 */
export async function appendWithCuts(store: SessionStore, session: string, lines: Lines): Promise<void> {
  const header = (await store.load(session, 1))?.header;
  let rest = behindLastCut(lines, header);
  for (let at = rest.findIndex(({ cut }) => cut); at >= 0; at = rest.findIndex(({ cut }) => cut)) {
    const before = rest.slice(0, at);
    const { id, cut } = rest[at] as SessionMessage;
    if (before.length > 0) await store.append(session, before);
    if (cut?.gone) await store.remove(session);
    else {
      const kept = newestKept((await store.load(session))?.messages ?? [], cut?.keep ?? 0);
      await store.rewrite(session, kept, { ...headerOf(session, kept), cut: id });
    }
    rest = rest.slice(at + 1);
  }
  if (rest.length > 0) await store.append(session, rest);
}

/** Of a session that begins anew with these messages: where it came from, and what it is called. */
export function headerOf(session: string, kept: Lines): Pick<SessionHeader, 'parent_key' | 'summary'> {
  return { parent_key: archivedSession(session), summary: titleOf(kept) ?? '' };
}

const TITLE_CHARS = 100;

/** What a session is called: the first words that a person said in it. */
export function titleOf(messages: Lines): string | undefined {
  const first = messages.find(({ role, content }) => role === 'user' && content.trim() !== '');
  return first && oneLine(first.content, TITLE_CHARS);
}
