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

/** Looks at the tail of a growing text now and then. Where the text should end then says `repetitionStart`. */
export function createRepetitionWatch(): RepetitionWatch {
  // Its own copy of the tail: a slice of the whole text, which was put together piece by piece, copies all of it each time.
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
 * Where the text of a model that got stuck in a loop should end: after the first copy of what it repeats. Undefined when the tail
 * does not repeat. The copies must follow each other without anything between: rows of a table that end alike are no loop. A unit
 * shorter than 20 characters must fill the whole window, and one without letters or digits (rules, borders)
 * never counts. Nor does anything in a code fence or a table, where repetition is content; `text` must then
 * be the whole answer.
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
    if (!/[\p{L}\p{N}]/u.test(unit) || isCodeOrTable(text, unit)) return undefined;
    return text.length - repeatedSuffix(text, period) + period;
  }
  return undefined;
}

function isCodeOrTable(text: string, unit: string): boolean {
  const fences = text.match(/^[ \t]*(?:```|~~~)/gm)?.length ?? 0;
  const lastLine = text.slice(text.lastIndexOf('\n') + 1);
  return fences % 2 === 1 || /\||```|~~~/.test(unit) || lastLine.includes('|');
}

/** Length of the longest suffix in which every character equals the one `period` before it. */
function repeatedSuffix(text: string, period: number): number {
  let at = text.length - 1;
  while (at - period >= 0 && text[at] === text[at - period]) at -= 1;
  return at - period < 0 ? text.length : text.length - 1 - at + period;
}
