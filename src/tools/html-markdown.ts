// HTML -> Markdown, piece by piece, for the programs that read what strangers wrote
import { parseHTML } from 'linkedom';
import { NodeHtmlMarkdown } from 'node-html-markdown';

/** Of the DOM what is used here; the types of a browser are not those of this project. */
interface Node {
  readonly textContent: string | null;
  readonly childNodes: Iterable<Node>;
}

interface Parent extends Node {
  readonly tagName: string;
}

/** What is converted at once: the time for it grows much faster than its length. */
const PIECE_CHARS = 10_000;
const MAX_DEPTH = 30;
/** What is converted piece by piece where it is long. */
const DIVISIBLE = /^(?:BODY|MAIN|ARTICLE|SECTION|DIV|UL)$/;

/** A whole document, or what stands in the body of one. Its scripts do not run. */
export function parsePage(html: string) {
  return parseHTML(/<(?:html|body)[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`).document;
}

/** All of it, or as much as makes `enough` characters and the rest of a piece. */
export function markdownOf(body: Parent, enough: number): string {
  let made = '';
  for (const piece of piecesOf(body)) {
    if (made.length >= enough) break;
    made = tidy(`${made}\n\n${NodeHtmlMarkdown.translate(piece)}`);
  }
  return made;
}

/** HTML of about one length each, in order. */
function* piecesOf(parent: Parent, depth = 0): Generator<string> {
  const [open, close] = parent.tagName === 'UL' ? ['<ul>', '</ul>'] : ['', ''];
  let piece = '';
  for (const node of parent.childNodes) {
    const html = 'outerHTML' in node ? String(node.outerHTML) : escaped(node.textContent ?? '');
    const isLong = html.length > PIECE_CHARS && depth < MAX_DEPTH && 'tagName' in node && DIVISIBLE.test(String(node.tagName));
    if (piece !== '' && (isLong || piece.length + html.length > PIECE_CHARS)) {
      yield open + piece + close;
      piece = '';
    }
    if (isLong) yield* piecesOf(node as Parent, depth + 1);
    else piece += html;
  }
  if (piece !== '') yield open + piece + close;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** Without blanks at the ends of lines, and with one empty line in a row at most. */
export function tidy(text: string): string {
  const lines = text.split('\n').map((line) => line.trimEnd());
  return lines
    .filter((line, at) => line !== '' || lines[at - 1] !== '')
    .join('\n')
    .trim();
}

/** Never between the halves of a character. */
export function cut(text: string, chars: number): string {
  const half = text.charCodeAt(chars - 1);
  return text.slice(0, half >= 0xd800 && half <= 0xdbff ? chars - 1 : chars);
}
