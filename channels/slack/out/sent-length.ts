/** How long a text is once it is sent: what answers are cut by, and drafts. */
import { loadParser } from '../../kit/markdown-tree.ts';
import { escapeText, renderTree } from './format.ts';

/** Loads the parser, so that the length can be told at once: bytes of UTF-8 of the text rendered and escaped. */
export async function loadSentLength(): Promise<(markdown: string) => number> {
  const parse = await loadParser();
  return (markdown) => Buffer.byteLength(rendered(markdown) || escapeText(markdown));

  /** Empty where nothing is to be seen, or where the parser gives up: the text is then sent as it was written. */
  function rendered(markdown: string): string {
    try {
      return renderTree(parse(markdown));
    } catch {
      return '';
    }
  }
}
