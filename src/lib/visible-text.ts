/**
 * Characters that people do not see and a model reads (attack A32). Tags (U+E0000 to U+E007F) spell ASCII; they are seen only behind
 * a black flag, as England's, Scotland's and Wales's (UTS 51, ED-14a). Embeddings and overrides of direction show text in another
 * order than it is read (UTS 39). Selectors and zero-width characters mean something beside a letter; in a row they carry bytes.
 */
const FLAG_OR_HIDDEN =
  /(\u{1f3f4}[\u{e0061}-\u{e007a}\u{e0030}-\u{e0039}]{3,6}\u{e007f})|[\u{e0000}-\u{e007f}\u202a-\u202e]+|\p{Default_Ignorable_Code_Point}{4,}/gu;

/** What somebody wrote without what nobody can see of it. Joiners, selectors and marks of direction that scripts and emoji need stay. */
export function visibleText(text: string): string {
  return text.replace(FLAG_OR_HIDDEN, (_all, flag: string | undefined) => flag ?? '');
}
