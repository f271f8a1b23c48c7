/**
 * The XML of callbacks, read strictly: elements, text and CDATA. It has no document type, hence only the five
 * entities of XML.
 */

export interface XmlElement {
  readonly name: string;
  /** Its own text, entities and CDATA resolved. Between child elements only spaces may stand. */
  readonly text: string;
  readonly children: readonly XmlElement[];
}

/** Callbacks have at most four levels and some twenty elements; the platform made nothing larger. */
const MAX_DEPTH = 8;
const MAX_ELEMENTS = 256;

/** The root element; undefined for all but a small well-formed document. Linear in the length of `source`. */
export function parseXml(source: string): XmlElement | undefined {
  const stack: Open[] = [{ name: '', text: '', children: [] }];
  let elements = 0;
  // Every character belongs to a token or the document is refused: `y` matches only where the last one ended.
  const token = new RegExp(TOKEN, 'gy');
  let at = 0;
  while (at < source.length) {
    token.lastIndex = at;
    const match = token.exec(source);
    const top = stack.at(-1);
    if (!match || !top) return undefined;
    at = token.lastIndex;
    const { open, empty, close, cdata, text, declaration } = match.groups ?? {};
    if (declaration !== undefined) {
      if (match.index !== 0) return undefined;
    } else if (open !== undefined) {
      elements += 1;
      if (elements > MAX_ELEMENTS || stack.length > MAX_DEPTH) return undefined;
      const element = { name: open, text: '', children: [] };
      top.children.push(element);
      if (empty === '') stack.push(element);
    } else if (close !== undefined) {
      if (stack.length < 2 || top.name !== close) return undefined;
      stack.pop();
    } else {
      const words = cdata ?? resolveReferences(text ?? '');
      if (words === undefined) return undefined;
      top.text += words;
    }
  }
  const [document] = stack;
  const root = document?.children[0];
  if (stack.length !== 1 || document?.children.length !== 1 || document.text.trim() !== '') return undefined;
  return root;
}

/** The text of the first child of that name; undefined when there is none. */
export function textOf(element: XmlElement, name: string): string | undefined {
  return element.children.find((child) => child.name === name)?.text;
}

interface Open extends XmlElement {
  text: string;
  readonly children: Open[];
}

const TOKEN = [
  /(?<declaration><\?xml [^<>?]{0,100}\?>)/,
  /<(?<open>[A-Za-z_][\w.-]{0,63})\s*(?<empty>\/?)>/,
  /<\/(?<close>[A-Za-z_][\w.-]{0,63})\s*>/,
  /<!\[CDATA\[(?<cdata>[\s\S]*?)\]\]>/,
  /(?<text>[^<]+)/,
]
  .map(({ source }) => source)
  .join('|');

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** An `&` that begins no reference of XML itself. Looked for first: what holds one is refused whole. */
const UNKNOWN_REFERENCE = /&(?!(?:#x[\da-fA-F]{1,6}|#\d{1,7}|amp|lt|gt|quot|apos);)/;

/** Undefined for a reference that means nothing without a document type, or that names no character. */
function resolveReferences(text: string): string | undefined {
  if (!text.includes('&')) return text;
  if (UNKNOWN_REFERENCE.test(text)) return undefined;
  let known = true;
  const out = text.replace(/&(?:#x([\da-fA-F]+)|#(\d+)|(\w+));/g, (_all, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name] ?? '';
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    known &&= code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return known ? String.fromCodePoint(code) : '';
  });
  return known ? out : undefined;
}
