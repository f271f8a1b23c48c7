/**
 * Words that people chose, put beside words of ours: nothing in them may pass for ours (`src/lib/marks.ts`).
 */
import type { InboundMessage, QuotedMessage } from '../../src/core/message.ts';
import { mark, nameInMark } from '../../src/lib/marks.ts';
import { visibleText } from '../../src/lib/visible-text.ts';

/**
 * A name for display inside our brackets: it may close no bracket and start no line. At most 64 characters,
 * `otherwise` if none is left.
 */
export function label(name: string, otherwise = 'unnamed'): string {
  return nameInMark(name, { otherwise });
}

/**
 * One bracketed line for what is neither text nor a file: `[poll: Lunch? | Yes | No]`. Neither its kind nor
 * its words can end it.
 */
export function bracketNote(kind: string, ...words: readonly (string | null | undefined)[]): string {
  const inner = words.filter((word) => word).join(' ');
  return inner.trim() === '' ? mark(label(kind)) : mark(`${label(kind)}: ${inner}`);
}

/** Lines that the adapter wrote. */
export interface Ours {
  readonly marks: string;
}

/**
 * Lines of marks, made by `bracketNote` or with `label`: told apart from words of people when a text is put
 * together.
 */
export function ours(marks: string): Ours {
  return { marks };
}

/**
 * Text and marks of a message: pieces below each other, empty ones left out. A string is words of people,
 * whatever they look like; the adapter's own lines are given by `ours`.
 *
 * @example composed(ours('[forwarded, not written by the sender]'), words)
 */
export function composed(...pieces: readonly (string | Ours | undefined)[]): Pick<InboundMessage, 'text' | 'marks'> {
  let text = '';
  const marks: (readonly [number, number])[] = [];
  for (const piece of pieces) {
    const lines = typeof piece === 'object' ? piece.marks : (piece ?? '');
    if (lines === '') continue;
    if (text !== '') text += '\n';
    if (typeof piece === 'object') marks.push([text.length, text.length + lines.length]);
    text += lines;
  }
  return marks.length === 0 ? { text } : { text, marks };
}

/** What a person says who only calls the agent by its name in reply to words: those are meant. */
export const POINTING = ours('[says only your name: the words replied to are meant]');

/**
 * `content`, or `POINTING` where a message says nothing beside the agent's name and is a reply to words of a
 * person. A reply to the agent's own words stays empty: they may be a question, which this must not answer.
 */
export function orPointing(
  content: Pick<InboundMessage, 'text' | 'marks'>,
  about: Pick<InboundMessage, 'mentionsBot' | 'media'> & { readonly replyTo: QuotedMessage | undefined },
): Pick<InboundMessage, 'text' | 'marks'> {
  const { mentionsBot, media, replyTo } = about;
  const isEmpty = visibleText(content.text).trim() === '' && media.length === 0;
  return isEmpty && mentionsBot && replyTo?.text && !replyTo.fromBot ? composed(POINTING) : content;
}
