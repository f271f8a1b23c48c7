/** What tools of our own making, for what a server has beside its tools, are made with. */
import { z } from 'zod';

const MAX_PAGES = 10;
/** Entries of a list that are shown. */
export const MAX_LISTED = 500;
/** Longest name or description of one. UTF-16 units. */
export const MAX_SHOWN = 300;

/** A request to the server; rejects where it refuses. */
export type AskServer = (method: string, params: Readonly<Record<string, unknown>>) => Promise<unknown>;

const page = z.looseObject({ nextCursor: z.string().max(10_000).nullish() });

/** What stands under `key` on all pages of a list, as far as the limits go. Rejects as `ask` does. */
export async function entriesOf(method: string, key: string, ask: AskServer): Promise<readonly unknown[]> {
  const entries: unknown[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES && entries.length <= MAX_LISTED; pages += 1) {
    const answer = page.parse(await ask(method, cursor === undefined ? {} : { cursor }));
    entries.push(...z.array(z.unknown()).parse(answer[key]));
    if (!answer.nextCursor) break;
    cursor = answer.nextCursor;
  }
  return entries;
}

/** A line each, bounded; `none` where there is none. */
export function shownList(lines: readonly string[], none: string): string {
  const shown = lines.slice(0, MAX_LISTED);
  if (lines.length > shown.length) shown.push('[there are more, which are not shown]');
  return shown.length > 0 ? shown.join('\n') : none;
}

/** Words of ours in the form of a server's answer. */
export function said(words: string): { readonly content: readonly object[] } {
  return { content: [{ type: 'text', text: words }] };
}
