/**
 * HTML mail bodies as text. Pure, one pass over the input: a hostile body costs no more than a friendly one.
 */
import type { BodyLine } from './body-line.ts';
import { attributesOf, type Visibility, visibilityOf, type Zone, zoneOf } from './html-element.ts';
import { decodeEntities } from './html-entities.ts';
import { TextLines } from './html-lines.ts';

/** Their content is no text of the page. */
const RAW = new Set(['script', 'style', 'head', 'title', 'template', 'noscript', 'textarea', 'select']);
const VOID = new Set([
  'area',
  'base',
  'br',
  'col',
  'embed',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'param',
  'source',
  'track',
  'wbr',
]);
const BLOCKS = new Set(
  `address article aside blockquote body center dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr html li main ol p pre
  section table tbody tfoot thead tr ul`.split(/\s+/),
);
const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();
/** Names that are long break the sentence. */
const MAX_INTRO_LINES = 4;
/** Attributes that hide, and those by which quotations are known. Others need not be read. */
const TELLING = /style|hidden|class|id|type|name/i;

/**
 * What a reader would see, line by line. Words that are not shown are left out. Quotations come out with `>
 * `, so that what is kept of them reads as in plain text, and with what their program says of them.
 */
export function htmlToLines(html: string): readonly BodyLine[] {
  const page = new Page();
  let at = 0;
  const next = /<(?=[a-z!?/]|$)/gi; // `a < b` is text
  while (at < html.length) {
    next.lastIndex = at;
    const open = next.exec(html)?.index ?? -1;
    if (open !== at) page.text(decodeEntities(html.slice(at, open < 0 ? html.length : open)));
    if (open < 0) break;
    if (html.startsWith('<!--', open)) {
      const end = html.indexOf('-->', open + 4);
      at = end < 0 ? html.length : end + 3;
      continue;
    }
    const close = tagEnd(html, open + 1);
    if (close < 0) break; // an unfinished tag at the end
    at = close + 1;
    const tag = /^(\/?)([a-z][a-z0-9]*)/i.exec(html.slice(open + 1, open + 24));
    if (!tag) continue; // `<!doctype>`, `<?xml?>`
    const name = (tag[2] ?? '').toLowerCase();
    if (tag[1] === '/') page.end(name);
    else if (RAW.has(name)) at = afterRaw(html, name, at);
    else page.start(name, html.slice(open, close));
  }
  return settled(page.lines());
}

/**
 * What stands above no quotation is no sentence about one: Gmail's container holds what people write into
 * it, too.
 */
function settled(lines: readonly BodyLine[]): readonly BodyLine[] {
  let below: BodyLine['origin'] = 'own';
  let length = 0;
  return lines
    .toReversed()
    .map((line): BodyLine => {
      if (line.text.trim() === '') return line;
      length = line.origin === 'intro' ? length + 1 : 0;
      const isIntro = below !== 'own' && below !== 'header' && length <= MAX_INTRO_LINES;
      const { origin } = line.origin === 'intro' && !isIntro ? { origin: 'own' as const } : line;
      below = origin;
      return origin === line.origin ? line : { ...line, origin };
    })
    .toReversed();
}

/** Past values in quotes, which may hold a `>` that no reader sees. A quote without an end is none. */
function tagEnd(html: string, from: number): number {
  const next = />|=\s{0,20}["']/g;
  next.lastIndex = from;
  for (let found = next.exec(html); found; found = next.exec(html)) {
    if (found[0] === '>') return found.index;
    const end = html.indexOf(found[0].slice(-1), next.lastIndex);
    if (end < 0) return html.indexOf('>', next.lastIndex);
    next.lastIndex = end + 1;
  }
  return -1;
}

function afterRaw(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}\\b`, 'gi');
  end.lastIndex = from;
  const match = end.exec(html);
  if (!match) return html.length;
  const close = html.indexOf('>', match.index);
  return close < 0 ? html.length : close + 1;
}

interface Open {
  readonly name: string;
  readonly seen: Visibility;
  readonly zone: Zone | undefined;
  /** Of a zone `around`: no blockquote came yet. */
  before: boolean;
}

/**
 * The elements that are open, and the lines written so far. Each element is closed once, whichever tag
 * closes it.
 */
class Page {
  readonly #lines = new TextLines();
  readonly #open: Open[] = [];
  /** How many of each name are open: an end tag without a start is passed over without a search. */
  readonly #count = new Map<string, number>();
  #gone = 0;
  #pre = 0;
  #quotes = 0;
  /** What the innermost element says that says something about it. */
  readonly #sized: boolean[] = [];
  readonly #painted: boolean[] = [];
  readonly #zones: Open[] = [];

  text(text: string): void {
    if (!this.#seen) return;
    if (this.#pre > 0) this.#lines.verbatim(text, this.#origin);
    else this.#lines.text(text, this.#origin);
  }

  get #seen(): boolean {
    return this.#gone === 0 && this.#sized.at(-1) !== false && this.#painted.at(-1) !== false;
  }

  get #origin(): BodyLine['origin'] {
    const zone = this.#zones.at(-1);
    if (!zone?.zone) return 'own';
    if (zone.zone !== 'around') return zone.zone;
    return zone.before ? 'intro' : 'own';
  }

  start(name: string, tag: string): void {
    if (name === 'br') {
      if (this.#seen) this.#lines.newline(this.#origin);
      return;
    }
    const attributes = (tag.length > name.length + 1 && TELLING.test(tag)) || name === 'a' ? attributesOf(tag) : NO_ATTRIBUTES;
    if (BLOCKS.has(name)) {
      // A paragraph that is not closed ends where the next block begins.
      if (this.#open.at(-1)?.name === 'p') this.end('p');
      this.#lines.block();
    }
    if (VOID.has(name)) return;
    const zone = zoneOf(name, attributes);
    const entry: Open = { name, seen: visibilityOf(attributes), zone, before: zone === 'around' };
    this.#push(entry);
    if (!this.#seen) return;
    if (name === 'li') this.#lines.text('- ', this.#origin);
    else if (name === 'td' || name === 'th') this.#lines.text(' ', this.#origin);
    else if (name === 'a') this.#lines.link(attributes.get('href'));
  }

  end(name: string): void {
    if ((this.#count.get(name) ?? 0) === 0) return;
    for (let entry = this.#open.pop(); entry; entry = this.#open.pop()) {
      this.#close(entry);
      if (entry.name === name) return;
    }
  }

  lines(): readonly BodyLine[] {
    return this.#lines.all();
  }

  #push(entry: Open): void {
    const { name, seen, zone } = entry;
    this.#open.push(entry);
    this.#count.set(name, (this.#count.get(name) ?? 0) + 1);
    if (seen.gone) this.#gone += 1;
    if (seen.sized !== undefined) this.#sized.push(seen.sized);
    if (seen.painted !== undefined) this.#painted.push(seen.painted);
    if (name === 'pre') this.#pre += 1;
    if (name === 'blockquote') {
      const around = this.#zones.at(-1);
      if (around) around.before = false;
      this.#quotes += 1;
      this.#lines.quotes(this.#quotes);
    }
    // A quotation inside a quotation changes nothing about who wrote it.
    if (zone === undefined) return;
    const outer = this.#zones.at(-1);
    this.#zones.push(outer?.zone === 'cited' || outer?.zone === 'block' ? outer : entry);
  }

  #close({ name, seen, zone }: Open): void {
    this.#count.set(name, (this.#count.get(name) ?? 1) - 1);
    if (BLOCKS.has(name)) this.#lines.block();
    if (seen.gone) this.#gone -= 1;
    if (seen.sized !== undefined) this.#sized.pop();
    if (seen.painted !== undefined) this.#painted.pop();
    if (name === 'pre') this.#pre -= 1;
    if (name === 'a') this.#lines.endLink(this.#origin);
    if (name === 'blockquote') {
      this.#quotes -= 1;
      this.#lines.quotes(this.#quotes);
    }
    if (zone !== undefined) this.#zones.pop();
  }
}
