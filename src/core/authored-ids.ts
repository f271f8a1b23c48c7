// a person, ids of messages -> the same ids with a hash where they held who wrote
import { inKeys } from './ids.ts';

/**
 * For platforms whose ids of messages hold who wrote (`CHAT:AUTHOR:ID`), and for all that is called by such
 * ids. The same id becomes the same wherever it stands, and a second time changes nothing, so that runs,
 * lines and summaries still belong together.
 */
export function withoutAuthors(principals: Iterable<string>, hash: string): (id: string) => string {
  const ids = [...principals].map((principal) => principal.slice(principal.indexOf(':') + 1));
  const own = new Set(ids.flatMap((id) => [id, inKeys(id)]));
  // A number at the end is that of a message.
  return (id) => id.replace(/(?<=^|[:/])[^:/#\s]+(?=:)/gu, (part) => (own.has(part) ? hash : part));
}
