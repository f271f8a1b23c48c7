/** The text of a regular expression with the flag `u`, as far as it matters for what makes it slow. */
export type PatternNode =
  /** Takes one character: a literal, an escape or a class, as it is written. */
  | { readonly kind: 'one'; readonly source: string }
  /** Takes none: a boundary, or a reference to a group, whose words are taken for none. */
  | { readonly kind: 'none' }
  /** `width` 0: a look ahead or behind. */
  | { readonly kind: 'group'; readonly options: readonly PatternSequence[]; readonly width: 0 | 1 }
  | { readonly kind: 'repeat'; readonly body: PatternNode; readonly least: number; readonly most: number };

export type PatternSequence = readonly PatternNode[];

const GROUP = /\((?:\?(?:<(?![=!])[^>]*>|<?[=!]|[a-z-]*:))?/uy;
const CLASS = /\[(?:\\.|[^\]\\])*\]/suy;
/** `\k<name>` and `\1` refer to a group, `\b` and `\B` are boundaries. */
const ESCAPE = /\\(?:u\{[^}]*\}|u[0-9a-f]{4}|x[0-9a-f]{2}|c[a-z]|p\{[^}]*\}|k<[^>]*>|[1-9]\d*|.)/isuy;
const QUANTIFIER = /([*+?]|\{(\d+)(,(\d*))?\})\??/uy;

/** Its alternatives. The text must be one that `RegExp` takes with the flag `u`. */
export function patternTree(text: string): readonly PatternSequence[] {
  return new Reader(text).options();
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Up to the end, or to the bracket that closes the group. */
  options(): PatternSequence[] {
    const options: PatternNode[][] = [[]];
    while (this.#at < this.#text.length && this.#text[this.#at] !== ')') {
      if (this.#take(/\|/uy)) options.push([]);
      else options.at(-1)?.push(this.#quantified(this.#node()));
    }
    return options;
  }

  #node(): PatternNode {
    const group = this.#take(GROUP)?.[0];
    if (group !== undefined) {
      const options = this.options();
      this.#at += 1;
      return { kind: 'group', options, width: /[=!]$/.test(group) ? 0 : 1 };
    }
    if (this.#take(/[$^]/uy)) return { kind: 'none' };
    const source = (this.#take(CLASS) ?? this.#take(ESCAPE) ?? this.#take(/./suy))?.[0] ?? '';
    return /^\\(?:[bBk]|[1-9])/.test(source) ? { kind: 'none' } : { kind: 'one', source };
  }

  #quantified(body: PatternNode): PatternNode {
    const found = this.#take(QUANTIFIER);
    if (!found) return body;
    const [, sign = '', least, range, most] = found;
    if (least === undefined) return { kind: 'repeat', body, least: sign === '+' ? 1 : 0, most: sign === '?' ? 1 : Infinity };
    const top = range === undefined ? Number(least) : Number(most || Infinity);
    return { kind: 'repeat', body, least: Number(least), most: top };
  }

  #take(sticky: RegExp): RegExpExecArray | undefined {
    sticky.lastIndex = this.#at;
    const found = sticky.exec(this.#text);
    if (!found) return undefined;
    this.#at = sticky.lastIndex;
    return found;
  }
}
