/**
 * A card -> its visible words, line by line. What arrives is a list of lines of pieces (FS "message content",
 * `interactive`); the JSON that cards are made of is read as well, since forwarded ones were seen to hold it.
 */
import { type JsonObject, list, obj } from '../../kit/json.ts';
import { bracketNote } from '../../kit/senders-words.ts';
import { stringOf } from '../wire/fields.ts';
import type { MentionNames } from './mention-names.ts';
import { pieceWords } from './post-words.ts';

/** A card has at most 200 elements and 30 KB; each element is a few objects deep. */
const MAX_DEPTH = 24;
const MAX_NODES = 5_000;

/** Pieces that stand beside each other in a line. */
const INLINE = /^(?:text|plain_text|lark_md|md|a|at|emotion|img|button|overflow|select_\w+|multi_select_\w+|\w*picker\w*|input)$/;
/** What a person sees of an element, in the order in which it is shown. */
const WORDS = ['title', 'subtitle', 'text', 'content', 'display_name', 'label', 'placeholder', 'alt'];
/** What holds further elements. */
const PARTS = ['header', 'card', 'body', 'fields', 'elements', 'actions', 'columns', 'extra', 'options', 'rows', 'i18n_elements'];

/** All of it is words of its author, brackets of buttons and pictures included. */
export function cardWords(card: JsonObject, names: MentionNames): { readonly text: string; readonly isCut: boolean } {
  const reader = new CardReader(names);
  const lines = reader.lines(card, 0).filter((line) => line.trim() !== '');
  return { text: lines.join('\n'), isCut: reader.isCut };
}

class CardReader {
  /** Something was too deep, or too much. */
  isCut = false;
  readonly #names: MentionNames;
  #nodes = 0;

  constructor(names: MentionNames) {
    this.#names = names;
  }

  lines(value: unknown, depth: number): string[] {
    this.#nodes += 1;
    this.isCut ||= depth > MAX_DEPTH || this.#nodes > MAX_NODES;
    if (this.isCut) return [];
    if (typeof value === 'string' || typeof value === 'number') return [String(value)];
    if (Array.isArray(value)) {
      const isLine = value.length > 0 && value.every((item) => INLINE.test(stringOf(obj(item)['tag'])));
      if (!isLine) return value.flatMap((item) => this.lines(item, depth + 1));
      return [
        value
          .map((item) => this.#piece(obj(item), depth))
          .filter((word) => word !== '')
          .join(' '),
      ];
    }
    const element = obj(value);
    const tag = stringOf(element['tag']);
    if (INLINE.test(tag)) return [this.#piece(element, depth)];
    if (tag === 'hr') return ['---'];
    return [
      ...WORDS.flatMap((key) => (key in element ? this.lines(element[key], depth + 1) : [])),
      ...PARTS.flatMap((key) => (key in element ? this.#part(key, element[key], depth + 1) : [])),
    ];
  }

  #part(key: string, part: unknown, depth: number): string[] {
    // Cells of a table stand under the names of its columns.
    if (key === 'rows')
      return list(part).map((row) =>
        Object.values(obj(row))
          .flatMap((cell) => this.lines(cell, depth))
          .join(' | '),
      );
    // The same elements in several languages.
    if (key === 'i18n_elements') return this.lines(Object.values(obj(part))[0], depth);
    return this.lines(part, depth);
  }

  #piece(piece: JsonObject, depth: number): string {
    const tag = stringOf(piece['tag']);
    if (tag === 'img') return bracketNote('picture', ...this.lines(piece['alt'] ?? [], depth + 1));
    const words = [...this.lines(piece['text'] ?? piece['content'] ?? [], depth + 1)].join(' ');
    if (tag === 'button') return bracketNote('button', words);
    if (tag === 'a' || tag === 'at' || tag === 'emotion') return pieceWords(piece, this.#names, () => undefined);
    if (/^(?:text|plain_text|lark_md|md)$/.test(tag)) return this.#names.replace(words);
    const options = list(piece['options']).flatMap((option) => this.lines(option, depth + 1).map((line) => `| ${line}`));
    const shown = ['placeholder', 'label', 'initial_date', 'initial_time', 'initial_datetime', 'default_value'];
    return bracketNote('choice', ...shown.flatMap((key) => (key in piece ? this.lines(piece[key], depth + 1) : [])), ...options);
  }
}
