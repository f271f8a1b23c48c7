import { type Fence, scanFences } from './fences.ts';
import { isLowSurrogate } from './measure.ts';
import { protectedSpans, type Span } from './spans.ts';

/**
 * Where to end a chunk that begins at `from` and may reach `to` (spec D1): the last blank line, else newline,
 * else end of a sentence, else blank, else between two characters. Code fences come before all of that: a
 * fence that opens in the second half goes to the next chunk whole, and no other place inside a fence is
 * taken while there is one outside. Code spans and links are cut only when they fill the chunk. `from <
 * result <= to`.
 */
export function findCut(text: string, from: number, to: number, inherited: Fence | undefined): number {
  const window = text.slice(from, to);
  let blankLine = -1;
  let newline = -1;
  const { open, openedAt, contentAt } = scanFences(window, inherited, (at, stillOpen) => {
    if (stillOpen || at === 0) return;
    newline = at;
    if (window[at + 1] === '\n') blankLine = at;
  });
  if (open) {
    const inside = window.lastIndexOf('\n');
    const hasContent = inside >= contentAt && inside > 0;
    if (openedAt > 0 && (openedAt >= window.length / 2 || !hasContent)) return from + openedAt;
    return hasContent ? from + inside : graphemeCut(text, from, to);
  }
  if (blankLine > 0) return from + blankLine;
  if (newline > 0) return from + newline;
  return lineCut(text, from + window.lastIndexOf('\n') + 1, from, to);
}

/**
 * Within the line that begins at `line`: after a sentence, else at a blank, in both cases outside code spans
 * and links.
 */
function lineCut(text: string, line: number, from: number, to: number): number {
  // Looks past the end, or a link that is about to be cut would not be seen as one.
  const newline = text.slice(to, to + (to - from)).indexOf('\n');
  const end = newline === -1 ? Math.min(text.length, to + (to - from)) : to + newline;
  const spans = protectedSpans(text, line, end);
  const sentence = lastPlace(text, Math.max(line, from), to, spans, endsSentence);
  if (sentence !== undefined) return sentence;
  const blank = lastPlace(text, Math.max(line, from), to, spans, (at) => text[at] === ' ' || text[at] === '\t');
  if (blank !== undefined) return blank;
  const half = from + (to - from) / 2;
  const across = spans.find(([start, stop]) => start >= half && start < to && stop > to);
  return across ? across[0] : graphemeCut(text, from, to);

  function endsSentence(at: number): boolean {
    const last = text[at - 1] ?? '';
    // Ideographic full stop, full-width exclamation and question mark: no blank follows them.
    return last === '\u3002' || last === '\uff01' || last === '\uff1f' || (text[at] === ' ' && '.!?'.includes(last));
  }
}

/**
 * The last index in (after, to) that matches and is in no span. Linear: indexes and spans are walked
 * backwards together.
 */
function lastPlace(text: string, after: number, to: number, spans: readonly Span[], matches: (at: number) => boolean) {
  let span = spans.length - 1;
  for (let at = Math.min(to, text.length) - 1; at > after; at -= 1) {
    while (span >= 0 && (spans[span]?.[0] ?? 0) >= at) span -= 1;
    const inSpan = span >= 0 && at < (spans[span]?.[1] ?? 0);
    if (!inSpan && matches(at)) return at;
  }
  return undefined;
}

/** Segmentation reads back at most this far; a longer "character" is cut anyway. */
const GRAPHEME_LOOK_BACK = 4_096;
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

function graphemeCut(text: string, from: number, to: number): number {
  // Begins at a boundary that was cut before, or at most a family emoji away from one.
  let start = Math.max(from, to - GRAPHEME_LOOK_BACK);
  if (start > from && isLowSurrogate(text.charCodeAt(start))) start += 1;
  const around = text.slice(start, to + 64);
  const boundary = graphemes.segment(around).containing(to - start)?.index ?? to - start;
  return boundary > 0 ? start + boundary : to;
}
