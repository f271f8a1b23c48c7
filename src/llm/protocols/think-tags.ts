const OPEN = '<think>';
const CLOSE = '</think>';

/** So many blanks at the beginning are text. Each further piece would be read with all of them. */
const MOST_BLANKS = 1_000;

export interface Split {
  readonly text: string;
  readonly reasoning: string;
}

export interface ThinkSplitter {
  push(delta: string): Split;
  /** What was held back because it could have been the start of a tag. */
  flush(): Split;
}

/**
 * Takes `<think>…</think>` blocks at the beginning of an answer out of the text, however the stream cuts the
 * tags. Tags further in are text: an answer may speak about them.
 */
export function createThinkSplitter(): ThinkSplitter {
  let state: 'start' | 'inside' | 'text' = 'start';
  let afterBlock = false;
  let held = '';

  return {
    push(delta) {
      held += delta;
      let reasoning = '';
      while (state !== 'text') {
        if (state === 'start') {
          const body = held.trimStart();
          // Blank lines after a block belong to it, even when they come in a later piece.
          if (afterBlock) held = body;
          if (body.startsWith(OPEN)) {
            state = 'inside';
            held = body.slice(OPEN.length);
          } else if (OPEN.startsWith(body) && held.length < MOST_BLANKS) {
            return { text: '', reasoning };
          } else {
            state = 'text';
          }
          continue;
        }
        const close = held.indexOf(CLOSE);
        const end = close === -1 ? held.length - partialSuffix(held, CLOSE) : close;
        reasoning += held.slice(0, end);
        held = held.slice(close === -1 ? end : end + CLOSE.length);
        if (close === -1) return { text: '', reasoning };
        state = 'start'; // another block may follow
        afterBlock = true;
      }
      const text = held;
      held = '';
      return { text, reasoning };
    },
    flush() {
      const rest = held;
      held = '';
      return state === 'inside' ? { text: '', reasoning: rest } : { text: rest, reasoning: '' };
    },
  };
}

/**
 * Some chat templates put the opening tag into the prompt. Then only a closing tag arrives, on a line of its
 * own, and what stands before it is reasoning.
 */
export function splitOrphanClose(text: string): Split {
  if (!text.includes(CLOSE)) return { text, reasoning: '' };
  const found = /(?:^|\n)<\/think>[ \t]*(?:\n\s*|$)/.exec(text);
  if (!found || text.includes(OPEN)) return { text, reasoning: '' };
  return { text: text.slice(found.index + found[0].length), reasoning: text.slice(0, found.index) };
}

function partialSuffix(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}
