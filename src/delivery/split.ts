import type { ChannelLimits } from '../core/channel.ts';
import { findCut } from './cut.ts';
import { tornAt } from './emphasis.ts';
import { closingLine, continueFence, type Fence, openingLine, reopened, scanFences } from './fences.ts';
import { withoutListIndent } from './list-indent.ts';
import { measure, measureSent, reach, type TextUnit } from './measure.ts';

export interface SplitOptions {
  /** Longest chunk in `unit`s; at least 4. */
  readonly max: number;
  readonly unit: TextUnit;
  /** Where rendering adds to a text: then no chunk is longer than `max` by this either. */
  readonly sentLength?: ChannelLimits['sentLength'];
  /** Default 50 (spec D1). One more chunk then says how much was left out. */
  readonly maxChunks?: number;
}

/** The size of one part of an answer on a channel. */
export function sizeOf({ text: max, unit, sentLength }: ChannelLimits): Omit<SplitOptions, 'maxChunks'> {
  return { max, unit, ...(sentLength && { sentLength }) };
}

/**
 * A Markdown text as chunks that each fit the platform and read well alone (spec D1). Code that is cut is
 * closed and opened again with its language, and emphasis with its marks, which count towards the limit.
 * Visible text is neither lost nor
 * changed up to the last chunk. Linear in `max * maxChunks`, not in the text.
 */
export function splitText(text: string, options: SplitOptions): string[] {
  const { max, maxChunks = 50 } = options;
  if (!(max >= 4)) throw new RangeError(`splitText: max must be at least 4, got ${max}`);
  const source = text.toWellFormed();
  const chunks: string[] = [];
  let at = 0;
  let carried: Carried = { fence: undefined, marks: '' };
  while (at < source.length) {
    if (chunks.length === maxChunks) {
      const note = leftOut(source.slice(at), options);
      return note === undefined ? chunks : [...chunks, note];
    }
    const next = takeChunk(source, at, carried, options);
    if (next.chunk !== '') chunks.push(next.chunk);
    at = next.end;
    carried = { fence: next.open, marks: next.marks };
  }
  return chunks;
}

/** What was open where the chunk before ended. */
interface Carried {
  readonly fence: Fence | undefined;
  /** Of emphasis; empty within a fence. */
  readonly marks: string;
}

interface Taken {
  readonly chunk: string;
  readonly end: number;
  readonly open: Fence | undefined;
  readonly marks: string;
}

/**
 * Code fences may use this share of a chunk; where even one would take more, code is cut like any other text.
 */
const FENCE_SHARE = 4;

/** A chunk this small is sent whatever becomes of it. */
const SMALLEST = 4;
/**
 * Renderings until one fits, as a rule. Then each try is half of the one before: what is written may be so
 * that its end adds nothing, and a rendering takes milliseconds.
 */
const EVEN_TRIES = 12;

function takeChunk(source: string, at: number, carried: Carried, options: SplitOptions): Taken {
  const { max, unit } = options;
  const { fence, marks } = carried;
  const opening = fence ? openingLine(fence) : marks;
  let budget = max - measure(opening, unit);
  for (let tries = 1; ; tries += 1) {
    const to = reach(source, at, budget, unit);
    const wanted = to >= source.length ? source.length : findCut(source, at, to, fence);
    const inCode = scanFences(source.slice(at, wanted), fence).open !== undefined;
    const torn = inCode ? undefined : tornAt(source, at, wanted, marks);
    const isTorn = torn !== undefined && measure(torn.closing + torn.opening, unit) <= max / FENCE_SHARE;
    const { cut, next, ...emphasis } = isTorn ? torn : { cut: wanted, next: wanted, closing: '', opening: '' };
    const body = source.slice(at, cut).trimEnd();
    if (body.trim() === '') return { chunk: '', marks, ...rest(source, cut, fence) };
    const { open, inheritedCloseAt } = scanFences(body, fence);
    const closable = open && measure(openingLine(open) + closingLine(open), unit) <= max / FENCE_SHARE ? open : undefined;
    const shown = fence ? dedented(body, inheritedCloseAt) : withoutListIndent(source, at, body);
    const chunk = opening + shown + (closable ? closingLine(closable) : emphasis.closing);
    const excess = measure(chunk, unit) - max;
    const sent = excess > 0 ? 0 : measureSent(chunk, options);
    if (excess <= 0 && (sent <= max || budget <= SMALLEST)) {
      return { chunk, marks: emphasis.opening, ...rest(source, next, closable && reopened(closable)) };
    }
    budget = excess > 0 ? budget - excess : shrunk(measure(source.slice(at, cut), unit), tries < EVEN_TRIES ? max / sent : 0.5);
  }
}

/**
 * What is to be tried instead of a piece that grew too long when it was rendered: shorter, and as if it grew
 * evenly.
 */
function shrunk(taken: number, share: number): number {
  return Math.max(SMALLEST, Math.min(taken - 1, Math.floor(taken * share)));
}

/**
 * Where the next chunk begins: past the blanks at the cut, and past a closing line that would only close an
 * empty fence.
 */
function rest(source: string, cut: number, open: Fence | undefined): { end: number; open: Fence | undefined } {
  let end = cut;
  if (open) {
    // Indentation is part of code: only the newline of the cut itself goes.
    if (source[end] === '\n') end += 1;
    const next = continueFence(source, end, open);
    if (next === true) return { end, open };
    return rest(source, next === false ? end : next, undefined);
  }
  const atNewline = source[end] === '\n' || source[end - 1] === '\n';
  while (source[end] === '\n') end += 1;
  if (!atNewline && source[end] === ' ') end += 1;
  return { end, open };
}

/**
 * The reopened fence has no indentation, so its closing line must have less than four columns (CommonMark
 * 4.5).
 */
function dedented(body: string, closeAt: number): string {
  return closeAt === -1 ? body : body.slice(0, closeAt) + body.slice(closeAt).replace(/^[ \t]+(?=[`~])/, '');
}

function leftOut(remainder: string, options: SplitOptions): string | undefined {
  if (remainder.trim() === '') return undefined;
  const note = `[${measure(remainder, 'codepoint')} characters left out]`;
  return note.slice(0, options.max);
}
