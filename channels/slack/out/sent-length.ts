/** How long a text is once it is sent: what answers are cut by, and drafts. */
import { loadParser } from '../../kit/markdown-tree.ts';
import { escapeText, literalText, renderTree } from './format.ts';

/** The parser looks for the end of each in vain, and again for the next; no text that means something has so many. */
const MOST_BRACKETS = 500;

/** Loads the parser, so that the length can be told at once: bytes of UTF-8 of the text rendered and escaped. */
export async function loadSentLength(): Promise<(markdown: string) => number> {
  const parse = await loadParser();
  return (markdown) => Buffer.byteLength(rendered(markdown) || escapeText(markdown));

  /** Empty where nothing is to be seen, or where the parser gives up: the text is then sent as it was written. */
  function rendered(markdown: string): string {
    if (markdown.split('[', MOST_BRACKETS + 2).length > MOST_BRACKETS + 1) return literalText(markdown);
    try {
      return renderTree(parse(markdown));
    } catch {
      return '';
    }
  }
}
