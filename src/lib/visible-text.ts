/**
 * Characters that people do not see and a model reads (attack A32). Tags (U+E0000 to U+E007F) spell ASCII;
 * they are seen only behind a black flag, as England's, Scotland's and Wales's (UTS 51, ED-14a). Embeddings
 * and overrides of direction show text in another order than it is read (UTS 39). Selectors and zero-width
 * characters mean something beside a letter; in a row they carry bytes. A selector carries a byte alone,
 * behind any character: it stays only where the standard gives it a meaning.
 */
const FLAG_OR_HIDDEN = new RegExp(
  [
    '(\\u{1f3f4}[\\u{e0061}-\\u{e007a}\\u{e0030}-\\u{e0039}]{3,6}\\u{e007f})',
    '[\\u{e0000}-\\u{e007f}\\u202a-\\u202e]+',
    '\\p{Default_Ignorable_Code_Point}{4,}',
    // Behind what StandardizedVariation.txt and emoji-variation-sequences.txt of Unicode 17 list, by script.
    `(?<![\\p{Emoji}\\p{Sm}\\u2018-\\u201d\\u3001\\u3002\\uff01-\\uff1f${scripts('Han', 'Myanmar', 'Phags_Pa', 'Manichaean', 'Egyptian_Hieroglyphs')}])[\\ufe00-\\ufe0f]`,
    // The Ideographic Variation Database has these behind ideographs alone.
    '(?<!\\p{Script=Han})[\\u{e0100}-\\u{e01ef}]',
  ].join('|'),
  'gu',
);

/** Those that are seen, as a blank or the end of a line, stay. */
const CONTROLS = /[^\P{Cc}\t\n\v\f\r\u0085]+/gu;

function scripts(...names: string[]): string {
  return names.map((name) => `\\p{Script=${name}}`).join('');
}

/**
 * What a person wrote without what no reader can see of it. Joiners, selectors and marks of direction that
 * scripts and emoji need stay.
 */
export function visibleText(text: string): string {
  // First: between selectors they would break up the row that those make.
  return text.replace(CONTROLS, '').replace(FLAG_OR_HIDDEN, (_all, flag: string | undefined) => flag ?? '');
}
