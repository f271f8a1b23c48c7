import { wholeHistory } from '../../../sessions/read-only.ts';
import { GatehouseError } from '../../core/errors.ts';
import type { SessionMessage } from '../../core/session.ts';
import { oneLine } from '../../lib/one-line.ts';
import { printable } from '../../lib/printable.ts';
import { type Command, dataDirOf } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { findSessions } from '../find-sessions.ts';

/** Found messages that are shown by default, and at most. */
const LIMIT = 20;
const MOST = 1_000;
/** Around the first word that is found. UTF-16 units. */
const BEFORE_CHARS = 40;
const SNIPPET_CHARS = 160;

export interface SearchOptions {
  readonly words: readonly string[];
  readonly channel?: string;
  readonly limit?: string;
}

interface Found {
  readonly session: string;
  readonly role: SessionMessage['role'];
  readonly at: string;
  readonly snippet: string;
}

/**
 * Messages that contain all words, in any case, the newest first; archives are searched too. Files are read
 * line by line, and no more is kept than is shown.
 */
export const sessionsSearch: Command<SearchOptions> = async (context, { words, channel, limit }) => {
  const { out } = context;
  const wanted = words.flatMap((word) => word.toLowerCase().split(/\s+/)).filter((word) => word !== '');
  const most = limit === undefined ? LIMIT : Math.min(MOST, Number(limit));
  if (wanted.length === 0 || !Number.isInteger(most) || most < 1)
    throw new GatehouseError(
      'GH1001',
      wanted.length === 0 ? 'there is no word to look for' : `--limit ${limit} is not a number`,
      {
        hint: `name words, and a limit from 1 to ${MOST}`,
      },
    );
  let found: Found[] = [];
  let count = 0;
  const newest = (): void => {
    found = found.toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, most);
  };
  for (const { key } of await findSessions(context, channel === undefined ? {} : { channel })) {
    for await (const { role, content, timestamp } of wholeHistory(dataDirOf(context), key)) {
      const snippet = snippetOf(content, wanted);
      if (snippet === undefined) continue;
      count += 1;
      found.push({ session: key, role, at: timestamp, snippet });
      if (found.length >= 2 * most) newest();
    }
  }
  newest();
  out.document({ count, found });
  if (count === 0) out.data('nothing was found');
  for (const { session, role, at, snippet } of found)
    out.data(printable(`${at.slice(0, 16).replace('T', ' ')}  ${session}  ${role}: ${snippet}`));
  if (count > found.length) out.say(`→ the newest ${found.length} of ${count}; \`--limit N\` shows more`);
  return EXIT.ok;
};

/** The words around the first that is found; undefined = one of them is missing. */
function snippetOf(content: string, wanted: readonly string[]): string | undefined {
  const lower = content.toLowerCase();
  if (!wanted.every((word) => lower.includes(word))) return undefined;
  const at = Math.max(0, Math.min(...wanted.map((word) => lower.indexOf(word))) - BEFORE_CHARS);
  const text = content.slice(at, at + 2 * SNIPPET_CHARS).toWellFormed();
  return (at > 0 ? '…' : '') + oneLine(text, SNIPPET_CHARS);
}
