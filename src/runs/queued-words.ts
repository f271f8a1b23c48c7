// a request of several people (`prepare.ts`, queue mode collect) -> what is a person's of it, what is others'
import { ERASED } from '../core/erasure.ts';
import type { SessionMessage } from '../core/session.ts';
import { storedStem } from '../media/fetch-file.ts';
import { MAX_FILES } from './prepare.ts';

/** Between the words of two; each but the first has a head of its own. */
const QUEUED =
  /\n---\n(?=(?:\[[^\n]*\n(?:(?: {2}[^\n]*\n)+\]\n)?)?Queued #\d+:\n(?:\[erased\]|(?:\[correction of an earlier message\] )?\[from ))/;
const HEAD =
  /^(?:\[[^\n]*\n(?:(?: {2}[^\n]*\n)+\]\n)?)?(Queued #\d+:\n)(?:\[correction of an earlier message\] )?(\[(?:from [^\]\n]*|erased)\])/;
/** Who said the first words. */
const LEADING = /^(?:\[correction of an earlier message\] )?(\[from [^\]\n]*\]) /m;
/** What is told of the files of all, below the last words. */
const FILE_MARKS = /(?:\n\[(?!from |correction |erased\])[^\n]*\])+$/;
const FILE_MARK = /^\[[\w ]+: (uploads\/\S+) \(/;

/** What a recording says stands above the mark of its file. */
const OF_RECORDING = /^\[(?:Voice transcription: |the whole transcription: )|could not be transcribed \(/;
const INPUT = ':in';

type Part = Pick<SessionMessage, 'content' | 'media'>;

/** Whether the file is a person's. Undefined = it is not known whose it is. */
type IsTheirs = (path: string) => boolean | undefined;

/** Whose a file is that came with one of these runs, by its path. */
export function filesOfRuns(runs: Iterable<string>): (path: string) => boolean {
  let stems: ReadonlySet<string> | undefined;
  return (path) => {
    stems ??= new Set([...runs].flatMap((id) => Array.from({ length: MAX_FILES }, (_, n) => storedStem({ id }, n))));
    return stems.has(path.slice(path.lastIndexOf('/') + 1).split('.', 1)[0] ?? '');
  };
}

/** The run that a person began with these words. */
export function runOfInput({ id }: Pick<SessionMessage, 'id'>): string {
  return id.slice(0, -INPUT.length);
}

/** Whether others than who began it said part of it. `marks`: more names of that person, as `[from NAME]`. */
export function isOfSeveral({ id, content, by, joined }: SessionMessage, marks: readonly string[] = []): boolean {
  const [first = '', ...queued] = id.endsWith(INPUT) ? content.split(QUEUED) : [];
  // The names alone would take two people of one name for one.
  if (joined?.length === queued.length) return joined.some((one) => one.by !== by);
  const own = new Set([ERASED, ...marksOf(first, marks)]);
  return queued.some((said) => !own.has(headOf(said).mark));
}

/** The words of who began it. */
export function leadingWords(content: string, marks: readonly string[] = []): string {
  const [first = '', ...queued] = content.split(QUEUED);
  const known = marksOf(first, marks);
  const own = queued.filter((said) => known.includes(headOf(said).mark));
  const words = [first, ...own].join('\n---\n');
  return own.length === queued.length ? words : words.replace(FILE_MARKS, '');
}

/** What of it is of who began it, and what is left of it without them. */
export function leadingPart(line: SessionMessage, marks: readonly string[], isTheirs: (path: string) => boolean): Part {
  return partOf(leadingWords(line.content, marks), line.media?.filter(isTheirs));
}

export function withoutLeading(
  line: SessionMessage,
  marks: readonly string[],
  isTheirs: (path: string) => boolean,
  isPerson: (by: string) => boolean,
): Part {
  const { content, media } = line;
  const [first = ''] = content.split(QUEUED);
  const left = withoutQueued(
    content,
    marksOf(first, marks),
    isTheirs,
    true,
    saidBy(line, (by) => by === line.by || isPerson(by)),
  );
  const [, ...others] = left.split(QUEUED);
  return partOf(
    [ERASED, ...others].join('\n---\n'),
    media?.filter((path) => !isTheirs(path)),
  );
}

function partOf(content: string, media: readonly string[] = []): Part {
  return { content, ...(media.length > 0 ? { media } : {}) };
}

/**
 * Without what people of these names said behind another. `isLeading`: the one who began it is one of them.
 */
export function withoutQueued(
  content: string,
  marks: readonly string[],
  isTheirs: IsTheirs = () => undefined,
  isLeading = false,
  /** Of the n-th message behind the first; undefined = its name decides. */
  isSaid: (n: number) => boolean | undefined = () => undefined,
): string {
  if (!content.includes('\nQueued #')) return content;
  const files = FILE_MARKS.exec(content)?.[0] ?? '';
  let isLast = false;
  const left = content
    .slice(0, content.length - files.length)
    .split(QUEUED)
    .map((said, n) => {
      const { head, mark } = n === 0 ? { head: '', mark: '' } : headOf(said);
      isLast = n > 0 && (isSaid(n - 1) ?? marks.includes(mark));
      return isLast ? `${head}${ERASED}` : said;
    });
  return left.join('\n---\n') + withoutFileMarks(files, (path) => isTheirs(path) ?? isLast, isLeading || isLast);
}

/** Whose the n-th message behind the first is, as far as the line says it. */
function saidBy({ content, joined }: SessionMessage, isTheirs: (by: string) => boolean): (n: number) => boolean | undefined {
  const isKnown = joined?.length === content.split(QUEUED).length - 1;
  return (n) => (isKnown && joined?.[n] ? isTheirs(joined[n].by) : undefined);
}

/** What they said behind another who began the request. Undefined = nothing, or the line does not say. */
export function queuedPart(
  line: SessionMessage,
  isTheirs: (by: string) => boolean,
  isTheirFile: (path: string) => boolean,
): Part | undefined {
  const isSaid = saidBy(line, isTheirs);
  const [, ...queued] = line.content.split(QUEUED);
  const own = queued.filter((_said, n) => isSaid(n) === true);
  if (own.length === 0) return undefined;
  return partOf(own.join('\n---\n').replace(FILE_MARKS, ''), line.media?.filter(isTheirFile));
}

type Joined = NonNullable<SessionMessage['joined']>;

/** With the hash in place of them. */
export function joinedWithout(joined: Joined, isTheirs: (by: string) => boolean, hash: string): Joined {
  return joined.map((one) => (isTheirs(one.by) ? { by: hash } : one));
}

interface JoinedRule {
  readonly isTheirs: (by: string) => boolean;
  readonly hash: string;
  readonly marks: readonly string[];
  readonly isTheirFile: (path: string) => boolean;
}

/** A request of another without what they said with it. Undefined = nothing of it changes. */
export function withoutJoined(
  line: SessionMessage,
  { isTheirs, hash, marks, isTheirFile }: JoinedRule,
): SessionMessage | undefined {
  const { content, media, joined } = line;
  if (!line.id.endsWith(INPUT) || !content.includes('\nQueued #')) return undefined;
  const isLeading = filesOfRuns([runOfInput(line)]);
  const left = {
    ...line,
    content: withoutQueued(
      content,
      marks,
      (path) => isTheirFile(path) || (isLeading(path) ? false : undefined),
      false,
      saidBy(line, isTheirs),
    ),
    ...(media ? { media: media.filter((path) => !isTheirFile(path)) } : {}),
    ...(joined ? { joined: joinedWithout(joined, isTheirs, hash) } : {}),
  };
  return JSON.stringify(left) === JSON.stringify(line) ? undefined : left;
}

/** `mayBeTheirs`: what tells of no file that is there, such as one that could not be fetched. */
function withoutFileMarks(marks: string, isTheirs: (path: string) => boolean, mayBeTheirs: boolean): string {
  const kept: string[] = [];
  let above: string[] = [];
  for (const row of marks.split('\n').slice(1)) {
    const path = FILE_MARK.exec(row)?.[1];
    if (path === undefined && OF_RECORDING.test(row)) above.push(row);
    else if (path === undefined ? !mayBeTheirs : !isTheirs(path)) kept.push(...above.splice(0), row);
    else above = [];
  }
  return kept.map((row) => `\n${row}`).join('');
}

function marksOf(first: string, marks: readonly string[]): readonly string[] {
  const [, mark] = LEADING.exec(first) ?? [];
  return mark === undefined ? marks : [...marks, mark];
}

function headOf(said: string): { readonly head: string; readonly mark: string } {
  const [, head = '', mark = ''] = HEAD.exec(said) ?? [];
  return { head, mark };
}
