/** The texts of a draft: what a chat sees of an answer while it is being written. */
const MARK = ' …';
const MARK_AFTER_FENCE = '\n…';

/** Room to leave for `unfinished`. */
export const UNFINISHED_MARK = MARK;

/** Shows that more is to come. */
export function unfinished(text: string): string {
  return `${text}${/(?:`{3}|~{3})$/.test(text) ? MARK_AFTER_FENCE : MARK}`;
}

/** The same without the mark. */
export function asFarAsItCame(shown: string): string {
  return shown.replace(/\s…$/, '');
}
