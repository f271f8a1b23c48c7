/** Spec B7: the same 20 to 160 characters at least 4 times inside the final 500. */
const WINDOW = 500;
const UNIT = 20;
const TIMES = 4;
const LONGEST_UNIT = Math.floor((WINDOW - UNIT) / (TIMES - 1));
/** A look costs as much as reading ten chunks does; a loop that goes on is found a few words later. */
const LOOK_EVERY = LONGEST_UNIT;

export interface RepetitionWatch {
  /** Takes the next piece of text. True when it has just looked and the tail repeats. */
  push(piece: string): boolean;
  /** Looks at what no push has looked at yet: for the end of the text. */
  flush(): boolean;
}

/** Looks at the tail of a growing text now and then. `repetitionStart` then says where it should end. */
export function createRepetitionWatch(): RepetitionWatch {
  // Its own copy of the tail: a slice of the whole text, which grew by pieces, copies all of it each time.
  let tail = '';
  let unseen = 0;
  const flush = (): boolean => {
    if (unseen === 0) return false;
    unseen = 0;
    tail = tail.slice(-WINDOW);
    return repetitionStart(tail) !== undefined;
  };
  return {
    push(piece) {
      tail += piece;
      unseen += piece.length;
      return unseen >= LOOK_EVERY && flush();
    },
    flush,
  };
}

/**
 * Where the text of a model that got stuck in a loop should end: after the first copy of what it repeats.
 * Undefined when the tail does not repeat. The copies must follow each other without anything between: rows
 * of a table that end alike are no loop. A unit shorter than 20 characters must fill the whole window, and
 * one without letters or digits (rules, borders) never counts. Nor does anything in code or in a table, where
 * repetition is content: in a fence of any kind, closed or not, in indented lines, in rows. In doubt it is
 * content. `text` must then be the whole answer.
 */
export function repetitionStart(text: string): number | undefined {
  if (text.length < UNIT * TIMES) return undefined;
  const tail = text.slice(-WINDOW);
  for (let period = 1; period <= LONGEST_UNIT; period += 1) {
    const repeated = repeatedSuffix(tail, period);
    if (repeated < Math.max(UNIT * TIMES, (TIMES - 1) * period + UNIT)) continue;
    // The smallest period decides: what repeats every 5 characters also repeats every 20.
    if (period < UNIT && repeated < WINDOW) return undefined;
    const unit = tail.slice(-period);
    if (!/[\p{L}\p{N}]/u.test(unit) || isCodeOrTable(text, tail, unit)) return undefined;
    return text.length - repeatedSuffix(text, period) + period;
  }
  return undefined;
}

function isCodeOrTable(text: string, tail: string, unit: string): boolean {
  if (/\||```|~~~/.test(unit)) return true;
  const lines = text.slice(text.lastIndexOf('\n', text.length - tail.length) + 1).split('\n');
  if (lines.at(-1)?.includes('|')) return true;
  return lines.every((line) => /^(?: {4}| {0,3}\t|\s*$)/.test(line)) || endsInFence(text);
}

/**
 * A line of three or more backticks or tildes, also in a quotation or in an item of a list (CommonMark 4.5).
 */
const FENCE = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(`{3,}|~{3,})(.*)$/gm;

/** A quotation or an item that ended does not end its fence here: what may be code is left alone. */
function endsInFence(text: string): boolean {
  let open = '';
  for (const [, marker = '', info = ''] of text.matchAll(FENCE)) {
    if (open === '') open = marker[0] === '`' && info.includes('`') ? '' : marker;
    else if (marker.startsWith(open) && info.trim() === '') open = '';
  }
  return open !== '';
}

/** Length of the longest suffix in which every character equals the one `period` before it. */
function repeatedSuffix(text: string, period: number): number {
  let at = text.length - 1;
  while (at - period >= 0 && text[at] === text[at - period]) at -= 1;
  return at - period < 0 ? text.length : text.length - 1 - at + period;
}
