/** Strict JSON (RFC 8259) that remembers where each value stood, to show a problem at its line and column. */

/** Offsets into the text, UTF-16 units; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface JsonNode {
  readonly value: unknown;
  readonly span: Span;
  /** Members of an object by key, items of an array by index; undefined for scalars. */
  readonly children?: ReadonlyMap<string | number, JsonNode>;
  /** Where an object's keys stand. */
  readonly keys?: ReadonlyMap<string, Span>;
}

interface DuplicateKey {
  readonly key: string;
  readonly span: Span;
}

export interface ParsedJson {
  readonly root: JsonNode;
  /** Later occurrences of a key in one object. In `JSON.parse` the last one wins, which no person expects. */
  readonly duplicates: readonly DuplicateKey[];
}

/** Thrown by `parseJson`. The message names no value of the text. */
export class JsonSyntaxError extends Error {
  readonly offset: number;
  readonly hint: string | undefined;

  constructor(message: string, offset: number, hint?: string) {
    super(message);
    this.name = 'JsonSyntaxError';
    this.offset = offset;
    this.hint = hint;
  }
}

/** Deeper nesting is refused: a config has a handful of levels, and the parser recurses. */
const MAX_DEPTH = 64;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPES: Readonly<Record<string, string>> = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

export function parseJson(text: string): ParsedJson {
  const parser = new Parser(text);
  const root = parser.value(0);
  parser.end();
  return { root, duplicates: parser.duplicates };
}

/** The node at a path, or the nearest one above it when the path leads to something absent. */
export function locate(root: JsonNode, path: readonly PropertyKey[]): { readonly node: JsonNode; readonly depth: number } {
  let node = root;
  let depth = 0;
  for (const step of path) {
    const child = typeof step === 'symbol' ? undefined : node.children?.get(step);
    if (!child) break;
    node = child;
    depth += 1;
  }
  return { node, depth };
}

class Parser {
  readonly duplicates: DuplicateKey[] = [];
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    if (text.charCodeAt(0) === 0xfeff) this.#at = 1;
  }

  value(depth: number): JsonNode {
    if (depth > MAX_DEPTH) throw new JsonSyntaxError(`nested deeper than ${MAX_DEPTH} levels`, this.#at);
    this.#space();
    const start = this.#at;
    const char = this.#text[start];
    if (char === '{') return this.#object(depth);
    if (char === '[') return this.#array(depth);
    if (char === '"') return { value: this.#string(), span: { start, end: this.#at } };
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, start)) continue;
      this.#at += word.length;
      return { value, span: { start, end: this.#at } };
    }
    NUMBER.lastIndex = start;
    const number = NUMBER.exec(this.#text)?.[0];
    if (number === undefined) throw this.#unexpected('a value');
    this.#at += number.length;
    return { value: Number(number), span: { start, end: this.#at } };
  }

  end(): void {
    this.#space();
    if (this.#at < this.#text.length) throw new JsonSyntaxError('there is more text after the end of the document', this.#at);
  }

  #object(depth: number): JsonNode {
    const start = this.#at++;
    const value: Record<string, unknown> = {};
    const children = new Map<string, JsonNode>();
    const keys = new Map<string, Span>();
    this.#space();
    while (this.#text[this.#at] !== '}' || children.size > 0) {
      const keyStart = this.#at;
      if (this.#text[keyStart] !== '"') throw this.#unexpected('a key in double quotes');
      const key = this.#string();
      const keySpan = { start: keyStart, end: this.#at };
      if (children.has(key)) this.duplicates.push({ key, span: keySpan });
      this.#space();
      if (this.#text[this.#at] !== ':') throw this.#unexpected('":" after the key');
      this.#at += 1;
      const node = this.value(depth + 1);
      children.set(key, node);
      keys.set(key, keySpan);
      // Not an assignment: a key named __proto__ must stay an ordinary key.
      Object.defineProperty(value, key, { value: node.value, enumerable: true, configurable: true, writable: true });
      if (!this.#more('}')) break;
    }
    this.#at += 1;
    return { value, span: { start, end: this.#at }, children, keys };
  }

  #array(depth: number): JsonNode {
    const start = this.#at++;
    const value: unknown[] = [];
    const children = new Map<number, JsonNode>();
    this.#space();
    while (this.#text[this.#at] !== ']' || value.length > 0) {
      const node = this.value(depth + 1);
      children.set(value.length, node);
      value.push(node.value);
      if (!this.#more(']')) break;
    }
    this.#at += 1;
    return { value, span: { start, end: this.#at }, children };
  }

  /** After an element: true when another must follow. Else leaves the position on the closing bracket. */
  #more(close: '}' | ']'): boolean {
    this.#space();
    const char = this.#text[this.#at];
    if (char === close) return false;
    if (char !== ',') throw this.#unexpected(`"," or "${close}"`);
    const comma = this.#at++;
    this.#space();
    if (this.#text[this.#at] === close) {
      throw new JsonSyntaxError(`"," before "${close}"`, comma, 'JSON has no trailing commas: remove it');
    }
    return true;
  }

  #string(): string {
    let result = '';
    let at = this.#at + 1;
    for (;;) {
      const char = this.#text[at];
      if (char === undefined || char === '\n' || char === '\r') {
        throw new JsonSyntaxError('this string is not closed', this.#at, 'add the missing double quote');
      }
      if (char === '"') break;
      if (char < ' ') throw new JsonSyntaxError('a control character inside a string', at, 'write it as an escape such as \\t');
      if (char !== '\\') {
        result += char;
        at += 1;
        continue;
      }
      const code = this.#text[at + 1] ?? '';
      const hex = this.#text.slice(at + 2, at + 6);
      if (code === 'u' && /^[0-9a-fA-F]{4}$/.test(hex)) {
        result += String.fromCharCode(Number.parseInt(hex, 16));
        at += 6;
        continue;
      }
      const plain = ESCAPES[code];
      if (plain === undefined) throw new JsonSyntaxError('an escape that JSON does not know', at, 'a backslash is written \\\\');
      result += plain;
      at += 2;
    }
    this.#at = at + 1;
    return result;
  }

  #space(): void {
    while (' \t\n\r'.includes(this.#text[this.#at] ?? 'x')) this.#at += 1;
  }

  #unexpected(wanted: string): JsonSyntaxError {
    const rest = this.#text.slice(this.#at);
    if (rest === '') {
      if (this.#text.trim() === '') return new JsonSyntaxError('the file is empty', this.#at, 'an empty config is written {}');
      return new JsonSyntaxError(
        `the file ends where ${wanted} should follow`,
        this.#at,
        'is it still being written, or cut off?',
      );
    }
    if (rest.startsWith('//') || rest.startsWith('/*') || rest.startsWith('#')) {
      return new JsonSyntaxError('JSON has no comments', this.#at, 'remove the comment');
    }
    if (/^[\u201c\u201d\u201e]/.test(rest))
      return new JsonSyntaxError('JSON strings use straight quotes', this.#at, 'replace “ ” with "');
    if (rest.startsWith("'")) return new JsonSyntaxError('JSON strings use double quotes', this.#at, 'replace \' with "');
    const hint = wanted.startsWith('","') ? 'is a comma missing before this?' : undefined;
    return new JsonSyntaxError(`expected ${wanted}`, this.#at, hint);
  }
}

const WORDS: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];
