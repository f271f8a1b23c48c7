/** Source text -> functions and classes with lines, by how lines begin and where braces or blanks end. */
import type { Language } from './code-languages.ts';
import { maskCode } from './mask-code.ts';

export interface CodeItem {
  readonly kind: string;
  readonly name: string;
  /** First and last line, counted from 1. */
  readonly from: number;
  readonly to: number;
  /** Items that it lies in. */
  readonly level: number;
}

/** Of a line; what is longer was written by a program. */
const LINE_CHARS = 1_000;
/** Between the name of a function and its body. */
const HEAD_CHARS = 500;
const [SEMICOLON, BRACE, BRACE_END, PARENTHESIS] = [0x3b, 0x7b, 0x7d, 0x28];
/**
 * `name(`, `A::~name<T>(`. Looked for where a name begins and nowhere else: each further place would read all
 * of a long one again.
 */
const CALL = /((?<![\w$]::)(?:(?<![\w$])[\w$]+::)*[~#]?(?<![\w$])[\w$]+)\s{0,8}(?:<[^<>()]{0,100}>)?\(/;
const NO_NAME = new Set(
  'if for while switch catch return function super await new throw else do case with sizeof typeof delete yield using synchronized assert constexpr defined'.split(
    ' ',
  ),
);

export function outlineOf(code: string, language: Language): readonly CodeItem[] {
  const text = maskCode(code, language.lexis);
  return language.byIndent ? byIndent(text, language) : new BraceScan(text, language).items();
}

interface Open {
  readonly item: CodeItem;
  readonly isContainer: boolean;
  /** Depth of braces in its body. */
  readonly inside: number;
}

class BraceScan {
  readonly #text: string;
  readonly #language: Language;
  /** Position of the brace or parenthesis that closes the one at a position. */
  readonly #closing = new Map<number, number>();
  readonly #lineStarts: number[] = [0];
  /** Depth of braces at the start of each line. */
  readonly #depths: number[] = [0];

  constructor(text: string, language: Language) {
    this.#text = text;
    this.#language = language;
    const open: { readonly at: number; readonly char: string }[] = [];
    let depth = 0;
    for (let at = 0; at < text.length; at += 1) {
      const char = text[at] ?? '';
      if (char === '{') depth += 1;
      if (char === '}') depth = Math.max(0, depth - 1);
      if (char === '{' || char === '(') open.push({ at, char });
      if (char === '}' || char === ')') this.#close(open, char === '}' ? '{' : '(', at);
      if (char !== '\n') continue;
      this.#lineStarts.push(at + 1);
      this.#depths.push(depth);
    }
  }

  /** A brace also closes parentheses that were left open in it; a parenthesis never closes a brace. */
  #close(open: { readonly at: number; readonly char: string }[], char: string, at: number): void {
    while (char === '{' && open.at(-1)?.char === '(') open.pop();
    const last = open.at(-1);
    if (last?.char !== char) return;
    open.pop();
    this.#closing.set(last.at, at);
  }

  items(): readonly CodeItem[] {
    const found: CodeItem[] = [];
    const around: Open[] = [];
    for (const [i, start] of this.#lineStarts.entries()) {
      const line = this.#text.slice(start, Math.min(start + LINE_CHARS, this.#lineStarts[i + 1] ?? this.#text.length)).trimEnd();
      while ((around.at(-1)?.item.to ?? i + 1) < i + 1) around.pop();
      if (line === '') continue;
      const one = this.#declared(line, start) ?? this.#called(line, start, i, around.at(-1));
      if (!one) continue;
      const to = one.end === undefined ? i + 1 : this.#lineOf(one.end);
      const item = { kind: one.kind, name: one.name, from: i + 1, to, level: around.length };
      found.push(item);
      around.push({ item, isContainer: one.isContainer, inside: (this.#depths[i] ?? 0) + 1 });
    }
    return found;
  }

  #declared(line: string, start: number) {
    for (const { kind, pattern, isContainer } of this.#language.declarations) {
      const match = pattern.exec(line);
      if (match?.[1] === undefined) continue;
      const body = this.#bodyFrom(start + match[0].trimEnd().replace(/\{$/, '').length);
      return { kind, name: match[1].replace(/\s+/g, ' '), isContainer: isContainer === true, end: body };
    }
    return this.#language.hasArrows ? this.#arrow(line, start) : undefined;
  }

  /** `const name = (…) =>`, and `name = async (…) =>` of a class. */
  #arrow(line: string, start: number) {
    const match =
      /^\s*(?:export\s+)?(?:(?:const|let|var|public|private|protected|static|override|readonly)\s+)*(#?[\w$]+)\s*(?::[^=]{1,200})?=\s*(?:async\s*)?(?:(function\b)|([\w$]+)\s*=>|(?:<[^<>()]{0,100}>\s*)?(\())/.exec(
        line,
      );
    const [all = '', name, word, argument, parenthesis] = match ?? [];
    if (name === undefined) return undefined;
    const at = start + all.length;
    if (parenthesis === undefined) return { kind: 'function', name, isContainer: false, end: this.#bodyFrom(at) };
    const closed = this.#closing.get(at - 1);
    if (word !== undefined || argument !== undefined || closed === undefined) return undefined;
    const arrow = /^\s*(?::[^;={}]{1,200})?=>\s*/.exec(this.#text.slice(closed + 1, closed + 1 + HEAD_CHARS));
    if (!arrow) return undefined;
    const body = closed + 1 + arrow[0].length;
    return { kind: 'function', name, isContainer: false, end: this.#text[body] === '{' ? this.#closing.get(body) : body };
  }

  /** `name(…) {`, where that is no call. */
  #called(line: string, start: number, index: number, around: Open | undefined) {
    const { callables } = this.#language;
    if (!callables) return undefined;
    const depth = this.#depths[index] ?? 0;
    const isMember = around?.isContainer === true && around.inside === depth;
    const isTop = callables.top !== undefined && depth === 0;
    if (!isMember && !isTop) return undefined;
    const match = CALL.exec(line);
    const name = match?.[1];
    if (!match || name === undefined || NO_NAME.has(name)) return undefined;
    const before = line.slice(0, match.index);
    if (!/^[\s\w$.<>[\],?@&*:#]*$/.test(before) || /[.@]$/.test(before) || before.split(/\s+/).some((word) => NO_NAME.has(word)))
      return undefined;
    const closed = this.#closing.get(start + match.index + match[0].length - 1);
    if (closed === undefined) return undefined;
    const end = this.#bodyFrom(closed + 1);
    if (end === undefined && (callables.needsBody || before.trim() === '')) return undefined;
    return { kind: isMember ? callables.member : (callables.top ?? ''), name, isContainer: false, end };
  }

  /** Where the body that follows ends; undefined when a semicolon comes first. */
  #bodyFrom(from: number): number | undefined {
    const end = Math.min(this.#text.length, from + HEAD_CHARS);
    for (let at = from; at < end; at += 1) {
      const char = this.#text.charCodeAt(at);
      if (char === SEMICOLON || char === BRACE_END) return undefined;
      if (char === PARENTHESIS) at = this.#closing.get(at) ?? at;
      if (char !== BRACE) continue;
      const closed = this.#closing.get(at);
      // `: a{1} {`, as C++ sets members before the body, and `{ a: string } {`, a type before it.
      const isBefore = closed !== undefined && /^\s*[,{>|&[]/.test(this.#text.slice(closed + 1, closed + 20));
      if (!isBefore) return closed;
      at = closed;
    }
    return undefined;
  }

  #lineOf(at: number): number {
    let [low, high] = [0, this.#lineStarts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= at) low = middle;
      else high = middle;
    }
    return low + 1;
  }
}

function byIndent(text: string, { declarations }: Language): readonly CodeItem[] {
  const found: { kind: string; name: string; from: number; to: number; level: number }[] = [];
  const around: { readonly indent: number; readonly item: { to: number }; readonly isContainer: boolean }[] = [];
  let depth = 0;
  for (const [i, whole] of text.split('\n').entries()) {
    const line = whole.slice(0, LINE_CHARS).trimEnd();
    if (line.trim() === '') continue;
    const indent = line.length - line.trimStart().length;
    // What parentheses hold goes on with the line before, however it is indented.
    if (depth === 0) while (around.length > 0 && indent <= (around.at(-1)?.indent ?? 0)) around.pop();
    for (const { item } of around) item.to = i + 1;
    const isCode = depth === 0;
    for (const char of whole) depth = Math.max(0, depth + ('([{'.includes(char) ? 1 : ')]}'.includes(char) ? -1 : 0));
    if (!isCode) continue;
    for (const { kind, pattern, isContainer } of declarations) {
      const name = pattern.exec(line)?.[1];
      if (name === undefined) continue;
      const isMethod = kind === 'function' && around.at(-1)?.isContainer === true;
      const item = { kind: isMethod ? 'method' : kind, name, from: i + 1, to: i + 1, level: around.length };
      found.push(item);
      around.push({ indent, item, isContainer: isContainer === true });
      break;
    }
  }
  return found;
}
