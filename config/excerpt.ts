import { isEnvironmentName } from '../src/lib/environment-name.ts';
import type { Span } from './json-positions.ts';
import type { Problem } from './problem.ts';

/** Longest piece of a source line that is shown; a minified file is one line. */
const WIDTH = 100;
/** Its value is a name; one that is none may be the secret itself. */
const ENV_KEY = /_envs?$/i;
const SECRET_KEY = /(token|password|passwd|secret|api_?key|authorization|cookie)$/i;
/** A key's string value, closed or cut off, with the key before it when both stand on the line. */
const STRING = /(?:"((?:[^"\\]|\\.)*)"\s*:\s*)?"((?:[^"\\]|\\.)*)("|$)(\s*:)?/g;

const RANDOM = /[A-Za-z0-9+=_-]{20,}/g;
/** Short words, as names of models are made of; a key has a part that is longer. */
const MODEL = /^\w{1,10}(?:[-./:]\w{1,10})*$/;

/**
 * Line, column and the marked source line of a span. `col` counts from 1. `hidden`: no character of the span
 * is shown.
 */
export function excerptAt(text: string, span: Span, hidden = false): Required<Pick<Problem, 'line' | 'col' | 'excerpt'>> {
  const lineStart = text.lastIndexOf('\n', span.start - 1) + 1;
  const newline = text.indexOf('\n', lineStart);
  const lineEnd = newline === -1 ? text.length : newline;
  const line = text.slice(0, lineStart).split('\n').length;
  const column = span.start - lineStart;
  const masked = maskSecrets(text.slice(lineStart, lineEnd));
  const to = Math.min(span.end, lineEnd) - lineStart;
  const source = printable(hidden ? masked.slice(0, column) + '*'.repeat(to - column) + masked.slice(to) : masked);
  const from = column > WIDTH - 30 ? column - 30 : 0;
  const shown = source.slice(from, from + WIDTH);
  const width = Math.max(1, Math.min(span.end, lineEnd) - span.start);
  const caret = ' '.repeat(column - from) + '^'.repeat(Math.min(width, Math.max(1, shown.length - (column - from))));
  return { line, col: column + 1, excerpt: { source: shown.trimEnd(), caret } };
}

/**
 * Replaces what may be a secret by as many asterisks, so that carets still point right: values of keys named
 * like one, and random-looking runs and user names in addresses within any other value. `${VAR}` stays,
 * because it names a secret and is none.
 */
function maskSecrets(line: string): string {
  return line.replace(
    STRING,
    (whole: string, key: string | undefined, value: string, quote: string, colon: string | undefined) => {
      if (colon !== undefined) return whole;
      const before = whole.slice(0, whole.length - value.length - quote.length);
      const reference = /^\$\{[^}]*\}$/.test(value);
      if (!reference && ENV_KEY.test(key ?? '') && !isEnvironmentName(value)) return before + stars(value) + quote;
      const isModel = key === 'model' && MODEL.test(value);
      const shown = isModel ? value : maskRuns(value);
      return before + (SECRET_KEY.test(key ?? '') && !reference ? stars(value) : shown) + quote;
    },
  );
}

function maskRuns(value: string): string {
  return value.replace(/(?<=:\/\/)[^/@\s]+(?=@)/g, stars).replace(RANDOM, (run) => (isRandom(run) ? stars(run) : run));
}

function stars(text: string): string {
  return '*'.repeat(text.length);
}

/** Whether a value may hold a secret, by the name of its key or by its looks: it must not be shown then. */
export function isSecretLike(key: string, value: string): boolean {
  return SECRET_KEY.test(key) || maskRuns(value) !== value;
}

/** Keys and tokens are long and mix letters with digits. Names of variables, hosts and models do not. */
function isRandom(run: string): boolean {
  return /\d/.test(run) && /[A-Za-z]/.test(run);
}

/** One column per character: control characters would move the caret or drive the terminal. */
function printable(line: string): string {
  return line.replace(/\p{Cc}/gu, ' ');
}
