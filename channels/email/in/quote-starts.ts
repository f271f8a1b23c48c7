/**
 * Where a quotation begins, by what stands above it. Pure; each look at a place takes a bounded number of
 * bounded lines.
 */
import { bareSubject, type HeaderRole, hasWroteWord, headerRole, isOriginalMark } from './quote-words.ts';

/** The text of a line; undefined outside the part that is looked at. */
export type LineAt = (index: number) => string | undefined;

/** What of the mail around a quotation tells it from words that only look like one. */
export interface ReplyFacts {
  /** Of the reply, as it came. */
  readonly subject: string;
  /** The mailbox the reply came to, lower case. */
  readonly account: string;
}

const MAX_LINE_CHARS = 600;
/** An attribution is one sentence that programs break after 70 to 80 characters. */
const ATTRIBUTION_LINES = 4;
/** More fields than any program writes above a quotation. */
export const HEADER_LINES = 14;

const ADDRESS = /[^\s<>@"']@[^\s<>@"']/;
/** A year of four digits of any calendar, or a date in digits. */
const DATE = /(?:^|\D)[12]\d{3}(?!\d)|\d[./-] ?\d{1,2}[./-] ?\d\d/;
const TIME = /\d ?[:.hH時时点] ?\d\d|\d시|[上下]午 ?\d|\d ?[ap]\.?m\b/i;
/** Programs put marks of direction around names and addresses in Arabic and Hebrew. */
const DIRECTIONS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const LABEL =
  /^[\s>*_]{0,20}([\p{L}][\p{L}\p{M} .()'\u2019\u3000-]{0,30}?)[ \t\u00a0\u3000]{0,8}\*{0,2}[ \t]{0,4}[:：]\*{0,2}(.*)$/u;

/**
 * The line at which the sentence above the line `end` begins ("On … Ada wrote:"), within its paragraph;
 * undefined when there is none. With `alone` only what no person writes by hand counts: an address, a date
 * and a time.
 */
export function attributionStart(line: LineAt, end: number, { alone }: { readonly alone: boolean }): number | undefined {
  let joined = '';
  let plausible: number | undefined;
  for (let at = end - 1; at >= end - ATTRIBUTION_LINES; at -= 1) {
    const raw = line(at);
    if (raw === undefined || raw.length > MAX_LINE_CHARS) break;
    const text = raw.replace(DIRECTIONS, '').trim();
    if (text === '') break;
    // The end of a sentence above belongs to the words above.
    if (at < end - 1 && /[.!?。！？:：;]$/.test(text) && !/(?:\b\p{L}{1,4}|\d)\.$/u.test(text)) break;
    joined = joined === '' ? text : `${text} ${joined}`;
    if (at === end - 1 && !/[:：]$|[-–—]{2}$/.test(text)) return undefined;
    const address = ADDRESS.test(joined);
    if (alone && !joined.includes('@')) continue;
    if (DATE.test(joined) && TIME.test(joined) && (alone ? address : address || startsWithDate(joined) || hasWroteWord(joined)))
      return at;
    // "He wrote:" and a quotation is what people write, too.
    if (!alone && plausible === undefined && (address || (/\d/.test(joined) && hasWroteWord(joined)))) plausible = at;
  }
  return plausible;
}

function startsWithDate(text: string): boolean {
  return /^[^:：]{0,30}\d/.test(text);
}

export interface HeaderBlock {
  /** The first line of it, with the rule or mark above. */
  readonly start: number;
  /** The line below it. */
  readonly end: number;
}

/**
 * The fields of an earlier mail ("From: … Sent: … To: … Subject: …") whose first one stands at `at`. A table
 * that people write looks the same: counted is what names the subject of the reply, the mailbox, or stands
 * below the mark of a mail program.
 */
export function headerBlockAt(line: LineAt, at: number, facts: ReplyFacts): HeaderBlock | undefined {
  if (!isField(line(at), true)) return undefined;
  const above = aboveBlock(line, at);
  if (!isField(line(at), above.marked)) return undefined;
  const values = new Map<HeaderRole, string>();
  let end = at;
  let continued = false;
  for (; end < at + HEADER_LINES; end += 1) {
    const text = line(end);
    if (text === undefined || text.length > MAX_LINE_CHARS || text.trim() === '') break;
    const field = fieldOf(text, above.marked);
    if (field && !values.has(field.role)) values.set(field.role, field.value);
    else if (!field && !(end > at && (continued || /^\s/.test(text)))) break;
    continued = /[;,]\s*$/.test(text);
  }
  const found = (['from', 'to', 'date', 'subject'] as const).filter((role) => values.has(role)).length;
  if (found < (above.marked ? 2 : 3) || (!values.has('from') && !above.marked)) return undefined;
  return above.marked || isOfReply(values, above.ruled, facts) ? { start: above.start, end } : undefined;
}

/**
 * The same where the mail program says in its HTML that it is one, whatever the names of the fields: it has
 * three at least.
 */
export function statedBlockAt(line: LineAt, at: number, end: number): HeaderBlock | undefined {
  let fields = 0;
  for (let index = at; index < Math.min(end, at + HEADER_LINES); index += 1)
    if (/^[^:：]{1,40}[:：]/.test(line(index)?.slice(0, 60) ?? '')) fields += 1;
  return fields < 3 ? undefined : { start: aboveBlock(line, at).start, end };
}

/** Whether a line has the form of a header field of a name that we know. */
export function isField(text: string | undefined, loose = false): boolean {
  return text !== undefined && text.length <= MAX_LINE_CHARS && fieldOf(text, loose) !== undefined;
}

function isOfReply(values: ReadonlyMap<HeaderRole, string>, ruled: boolean, { subject, account }: ReplyFacts): boolean {
  const date = values.get('date') ?? '';
  if (!DATE.test(date) || !(TIME.test(date) || ruled)) return false;
  const people = `${values.get('from') ?? ''} ${values.get('to') ?? ''}`;
  if (people.toLowerCase().includes(account)) return true;
  const quoted = values.get('subject');
  if (quoted === undefined) return ruled && ADDRESS.test(people);
  const [mine, theirs] = [bareSubject(subject), bareSubject(quoted)];
  if (mine === theirs || (mine !== '' && theirs !== '' && (mine.includes(theirs) || theirs.includes(mine)))) return true;
  // Of a subject that came without its charset only the ASCII can be compared.
  return isUndecoded(subject) && /[^\0-\u00ff]/.test(quoted);
}

function isUndecoded(subject: string): boolean {
  return /[\u0080-\u00ff\ufffd]/.test(subject) && !/[^\0-\u00ff\ufffd]/.test(subject);
}

function fieldOf(text: string, loose: boolean): { readonly role: HeaderRole; readonly value: string } | undefined {
  const [, label, value = ''] = /[:：]/.test(text) ? (LABEL.exec(text) ?? []) : [];
  const role = label === undefined ? undefined : headerRole(label);
  if (role !== undefined) return { role, value };
  if (!loose) return undefined;
  // Below a mark some programs write no colon: `From "Ada" <ada@…>`.
  const [, word = '', rest = ''] = /^\s{0,20}(\S{1,20})[ \t]+(\S.*)$/.exec(text) ?? [];
  const bare = headerRole(word);
  return bare === undefined ? undefined : { role: bare, value: rest };
}

/** The mark or the rule right above, at most one blank line away. */
function aboveBlock(line: LineAt, at: number): { readonly start: number; readonly marked: boolean; readonly ruled: boolean } {
  for (let up = at - 1; up >= at - 2; up -= 1) {
    const text = line(up)?.trim();
    if (text === undefined) break;
    if (text === '') continue;
    if (isOriginalMark(text)) return { start: up, marked: true, ruled: false };
    if (isRule(text)) return { start: up, marked: false, ruled: true };
    break;
  }
  return { start: at, marked: false, ruled: false };
}

export function isRule(text: string): boolean {
  return text.length <= 300 && /^(?:_{4,}|-{4,}|={4,}|[—–]{3,})$/.test(text.trim());
}
