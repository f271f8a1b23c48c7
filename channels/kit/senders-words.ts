/**
 * Words that people chose, put beside words of ours: nothing in them may pass for ours (`src/lib/marks.ts`).
 */
import type { InboundMessage } from '../../src/core/message.ts';
import { mark, nameInMark } from '../../src/lib/marks.ts';

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
