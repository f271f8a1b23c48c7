// words of a person, and a text of another -> the text without what it tells, quotes and repeats of them
import { ERASED, type Theirs } from '../core/erasure.ts';
import { fromMark, QUOTED_LINE, writtenBy } from '../lib/marks.ts';
import { oneLine } from '../lib/one-line.ts';
import { withoutQueued } from './queued-words.ts';

/** Shorter words are everybody's: they are taken out only where they are quoted. */
export const PHRASE_CHARS = 20;
/** A shorter sentence that is but a part of a line others may have written as well. */
const OWN_CHARS = 40;
/** As far as what is quoted on the line of a mark reaches. */
const QUOTED_CHARS = 500;
const MOST_PHRASES = 5_000;
/** A quotation shows as lines of their own what these end. */
const INNER_END = /[\v\f\r\u0085\p{Zl}\p{Zp}]+/u;
/** Where a sentence ends within a line, and the signs at its end. */
const SENTENCE_END = /(?<=[.!?…]["”’)]?)\s+|(?<=[。！？])/u;
const END_SIGNS = /(?<![.!?…。！？"”’)])[.!?…。！？"”’)]+$/u;
/** Below the last line of a quotation that was cut (`blockMark`). */
const CUT = /^ {2}\(\d+ more characters of it are left out\)$/;
/** How the head of such a quotation ends. */
const BELOW = ', quoted below:';
/** Before the words of an edited message (`prepare.ts`). */
export const CORRECTED = /^\[correction of an earlier message\] /;
/** Who wrote a line of a group; the name of a person of the same name was erased. */
const AUTHOR = /^\[(?:from [^\]]*|erased)\] /;
/** What was said in a recording stands in a mark. */
const SPOKEN = /^\[Voice transcription: (.*)\]$/;

/** How they are named in what is told and quoted of them. */
export interface Named {
  /** `[from NAME]` */
  readonly marks: readonly string[];
  /**
   * As in `in reply to another message (written by NAME, not by the sender)`; some channels show the id
   * there.
   */
  readonly origins: readonly string[];
}

export function namesOf({ names, principals }: Theirs): Named {
  const shown = [...names, ...[...principals].map((principal) => principal.slice(principal.indexOf(':') + 1))];
  return { marks: names.map(fromMark), origins: shown.map((name) => `(${writtenBy(name)})`) };
}

interface Words extends Named {
  readonly said: readonly string[];
  /** Of `sentencesIn`. */
  readonly sentences: readonly string[];
  /** By the agent, to them: others may quote it, and it may be anyone's where it only stands in a text. */
  readonly answered: readonly string[];
}

/**
 * Takes out what is told under their name, their longer lines and sentences, and what is quoted of theirs.
 * `isOfPeople`: another person wrote the text, who may use the same sentence by chance.
 */
export function withoutWords({
  said,
  sentences,
  answered,
  marks,
  origins,
}: Words): (text: string, isOfPeople?: boolean) => string {
  const phrases = longestFirst(said);
  const lines = phrases.filter((words) => words.length >= PHRASE_CHARS);
  const parts = longestFirst(sentences.map((words) => words.replace(END_SIGNS, '')));
  const all = longestFirst([...lines, ...parts], 2 * MOST_PHRASES);
  const own = longestFirst([...lines, ...parts.filter((words) => words.length >= OWN_CHARS)], 2 * MOST_PHRASES);
  const quoted = [...phrases, ...longestFirst(sentences), ...parts, ...longestFirst(answered)];
  const plain = new Set(quoted);
  const quoting = [...plain].filter((words) => /[“”]/.test(words));
  return (text, isOfPeople = false) => {
    const long = isOfPeople ? own : all;
    let left = withoutQueued(text, marks);
    if (marks.some((mark) => left.includes(mark)))
      left = eachRow(left, (row) => (marks.some((mark) => row.startsWith(`  ${mark} `)) ? `  ${ERASED}` : row));
    if (origins.some((origin) => left.includes(origin))) left = withoutOrigins(left, origins);
    for (const mark of marks) left = left.replaceAll(mark, ERASED);
    for (const words of long) if (left.includes(words)) left = left.replaceAll(words, ERASED);
    if (left.includes(`\n${QUOTED_LINE}`)) left = withoutQuoted(left, quoted);
    if (left.includes('“')) {
      for (const words of quoting) left = left.replaceAll(`“${words}”`, `“${ERASED}”`);
      left = left.replace(/“([^“”]*)”/g, (all, words: string) => (plain.has(words) ? `“${ERASED}”` : all));
    }
    return left;
  };
}

/** A whole line that is quoted, also the one in which a long quotation was cut. */
function withoutQuoted(text: string, phrases: readonly string[]): string {
  const whole = new Set(phrases.map((words) => words.trimEnd()));
  const rows = text.split('\n');
  const isErased = (row: string, n: number): boolean => {
    if (!row.startsWith(QUOTED_LINE)) return false;
    const said = row.slice(QUOTED_LINE.length);
    const isCut = CUT.test(rows[n + 1] ?? '');
    return whole.has(said) || (isCut && said !== '' && phrases.some((words) => words.startsWith(said)));
  };
  return rows.map((row, n) => (isErased(row, n) ? `${QUOTED_LINE}${ERASED}` : row)).join('\n');
}

export function longestFirst(words: readonly string[], most = MOST_PHRASES): readonly string[] {
  return [...new Set(words)].sort((a, b) => b.length - a.length).slice(0, most);
}

function eachRow(text: string, change: (row: string) => string): string {
  return text.split('\n').map(change).join('\n');
}

/** Takes out what requests that name the author reply to (`prepare.ts`), with all that is quoted below. */
function withoutOrigins(text: string, origins: readonly string[]): string {
  let isBelow = false;
  return text
    .split('\n')
    .flatMap((row) => {
      const isQuoted = isBelow && (row === ']' || row.startsWith('  '));
      isBelow = isQuoted && row !== ']';
      if (isQuoted) return [];
      if (!origins.some((origin) => row.startsWith(`[in reply to another message ${origin}`))) return [row];
      isBelow = row.endsWith(BELOW);
      return [`[in reply to another message: “${ERASED}”]`];
    })
    .join('\n');
}

/** The words of a line, as others may repeat them: whole, line by line, and as a quotation shows them. */
export function wordsIn(content: string): readonly string[] {
  const said = rowsIn(content);
  const whole = said.join('\n');
  const quoted = oneLine(whole.replace(/[“”]/g, '"'), QUOTED_CHARS);
  return [whole, quoted, ...said, ...said.flatMap((row) => row.split(INNER_END))].filter((text) => text.trim().length > 1);
}

/** Its longer sentences. */
export function sentencesIn(content: string): readonly string[] {
  const rows = rowsIn(content).flatMap((row) => row.split(INNER_END));
  const sentences = rows.flatMap((row) => row.split(SENTENCE_END)).map((text) => text.trim());
  return sentences.filter((text) => text.replace(END_SIGNS, '').length >= PHRASE_CHARS);
}

function rowsIn(content: string): readonly string[] {
  const rows = content.split('\n').filter((row) => !row.startsWith('  ') && row !== ']');
  const bare = rows.map((row) => row.replace(CORRECTED, '').replace(AUTHOR, '').replace(SPOKEN, '$1'));
  return bare.filter((row) => row !== '' && !row.startsWith('['));
}
