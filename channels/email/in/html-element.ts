/**
 * What the tags of a mail's HTML say besides words: what no reader sees, and what a mail program marked as a
 * quotation. Pure, linear.
 */
import type { BodyLine } from './body-line.ts';
import { decodeEntities } from './html-entities.ts';

/** A quotation mark that does not close is met once: the next one would close it. */
const ATTRIBUTE = /([^\s/=>"']+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>"']*))?/g;

/**
 * A start tag's attributes: names in lower case, the first of a name counts, values with their entities as
 * they are.
 */
export function attributesOf(tag: string): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>();
  const named = /^<[a-z][\w:-]*/i.exec(tag.slice(0, 64))?.[0].length ?? tag.length;
  for (const [, name = '', value = ''] of tag.slice(named).matchAll(ATTRIBUTE)) {
    const key = name.toLowerCase();
    if (!attributes.has(key)) attributes.set(key, value.replace(/^["']|["']$/g, ''));
  }
  return attributes;
}

/** Whether the words inside are seen. Undefined: as those around it. */
export interface Visibility {
  /** The element is not there for the reader, and neither is anything in it. */
  readonly gone: boolean;
  /** What a descendant can take back: letters without size, and letters that are not painted. */
  readonly sized?: boolean;
  readonly painted?: boolean;
}

const NONE = /^(?:0+(?:\.0*)?|\.0+)(?:px|pt|em|rem|ex|ch|in|cm|mm|pc|vh|vw|%)?$/;

const SHOWN: Visibility = { gone: false };

/** By the attributes of the element itself; style sheets and colours are not looked at. */
export function visibilityOf(attributes: ReadonlyMap<string, string>): Visibility {
  const stated = attributes.get('style');
  if (stated === undefined && !attributes.has('hidden')) return SHOWN;
  const style = declarations(decodeEntities(stated ?? '').replace(/\/\*.*?(?:\*\/|$)/gs, ''));
  const is = (name: string, test: RegExp) => test.test(style.get(name) ?? '');
  const noBox =
    (is('height', NONE) || is('max-height', NONE) || is('width', NONE) || is('max-width', NONE)) &&
    is('overflow', /^(?:hidden|clip)/);
  const gone = attributes.has('hidden') || is('display', /^none\b/) || is('opacity', NONE) || is('mso-hide', /^all\b/) || noBox;
  const size = style.get('font-size');
  const painted = style.get('visibility');
  return {
    gone,
    ...(size === undefined ? {} : { sized: !NONE.test(size) }),
    ...(painted === undefined ? {} : { painted: !/^(?:hidden|collapse)/.test(painted) }),
  };
}

/** Lower case; of a property that stands there twice the last counts, as in a browser. */
function declarations(style: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const declaration of style.toLowerCase().split(';')) {
    const colon = declaration.indexOf(':');
    if (colon < 0) continue;
    const value = declaration.slice(colon + 1).trim();
    found.set(declaration.slice(0, colon).trim(), value.replace(/!important$/, '').trim());
  }
  return found;
}

/** Gmail, Thunderbird, Roundcube: the sentence above the quotation. */
const INTRO = new Set(['gmail_attr', 'moz-cite-prefix', 'reply-intro']);
/**
 * Gmail, Proton Mail, Yahoo, Zoho and older programs: quotations as blockquotes of a class or id of theirs.
 */
const CITED = new Set([
  'gmail_quote',
  'protonmail_quote',
  'yahoo_quoted',
  'blockquote_zmail',
  'mailru-blockquote',
  'zmail_quote',
]);
/** Containers of sentence and quotation: what stands in one before its first blockquote is the sentence. */
const AROUND = new Set(['gmail_quote', 'gmail_quote_container', 'protonmail_quote', 'zmail_extra']);
/** Yahoo and Outlook for phones: sentence or header fields, and the quotation without marks. */
const BLOCK = new Set(['yahoo_quoted', 'mail-editor-reference-message-container', 'ms-outlook-mobile-reference-message']);
/** Outlook on the web and for Mac: the header fields above the quotation. */
const HEADER = new Set(['divrplyfwdmsg', 'outlookmessageheader']);
/**
 * Word, with which Outlook for Windows writes: the line above the header fields is the border of their box.
 */
const WORD_BORDER = /border-top:\s*solid\s+#[\da-f]{6}\s+1\.0pt/i;

/** `around` is `intro` up to the first blockquote. */
export type Zone = Exclude<BodyLine['origin'], 'own'> | 'around';

/** What a mail program says with this element; undefined for one that says nothing. */
export function zoneOf(name: string, attributes: ReadonlyMap<string, string>): Zone | undefined {
  if (attributes.size === 0) return name === 'blockquote' ? 'marked' : undefined;
  const names = `${attributes.get('class') ?? ''} ${attributes.get('id') ?? ''}`.toLowerCase().split(/\s+/);
  const has = (set: ReadonlySet<string>) => names.some((each) => set.has(each));
  if (name === 'blockquote') return attributes.get('type')?.toLowerCase() === 'cite' || has(CITED) ? 'cited' : 'marked';
  if (has(INTRO)) return 'intro';
  if (has(BLOCK) || names.some((each) => /^ydp[\da-f]+yahoo_quoted$/.test(each))) return 'block';
  if (has(HEADER) || WORD_BORDER.test(attributes.get('style') ?? '')) return 'header';
  // GMX and Web.de
  if (name === 'div' && attributes.get('name') === 'quote') return 'block';
  return has(AROUND) ? 'around' : undefined;
}
