// lines of a session that others have a part in -> which are a person's who is erased -> `[erased]`
import { ERASED, type Theirs, type WordsRule } from '../core/erasure.ts';
import type { SessionMessage } from '../core/session.ts';
import { fromMark, QUOTED_LINE, writtenBy } from '../lib/marks.ts';
import { oneLine } from '../lib/one-line.ts';

/** Shorter words are everybody's: they are taken out only where they are quoted. */
export const PHRASE_CHARS = 20;
/** As far as what is quoted on the line of a mark reaches. */
const QUOTED_CHARS = 500;
const MOST_PHRASES = 5_000;
/** A quotation shows as lines of their own what these end. */
const INNER_END = /[\v\f\r\u0085\p{Zl}\p{Zp}]+/u;
/** Below the last line of a quotation that was cut (`blockMark`). */
const CUT = /^ {2}\(\d+ more characters of it are left out\)$/;
/** How the head of such a quotation ends. */
const BELOW = ', quoted below:';
/** Before the words of an edited message (`prepare.ts`). */
const CORRECTED = /^\[correction of an earlier message\] /;
/** Who wrote a line of a group; the name of a person of the same name was erased. */
const AUTHOR = /^\[(?:from [^\]]*|erased)\] /;
const NAMED = /^\[from ([^\]]*)\] /;
/** As the mark calls people whose names show nothing (`nameInMark`). */
const NAMELESS = 'unnamed';
/** What was said in a recording stands in a mark. */
const SPOKEN = /^\[Voice transcription: (.*)\]$/;
const INPUT = ':in';
/** How ids of summaries begin. No key of a message does: no channel has such a name. */
const SUMMARY = 'compacted:';

export interface LineRule {
  readonly change: (line: SessionMessage) => SessionMessage | undefined;
  /** Lines that are theirs, as they were. */
  readonly own: readonly SessionMessage[];
}

/**
 * Theirs is every line of a run of theirs: their words, what the agent thought, called and answered, and what
 * came of it. Of lines of an earlier version, which do not say whose they are, the name above the words
 * decides. In lines of others, what was told or quoted of theirs goes, word for word. `hash`: what stands in
 * place of their id, so that the same lines are found again after a kill. `told`: words of theirs that lines
 * of others hold without their name.
 */
export function eraseRule(
  theirs: Theirs,
  hash: string,
  lines: readonly SessionMessage[],
  told: readonly string[] = [],
): LineRule {
  const runs = new Set(theirs.runs);
  const isTheirs = (by: string | undefined): boolean => by !== undefined && (theirs.principals.has(by) || by === hash);
  const marks = theirs.names.map(fromMark);
  for (const line of lines)
    if (line.id.endsWith(INPUT) && (isTheirs(line.by) || (line.by === undefined && isSaidBy(line, marks))))
      runs.add(line.id.slice(0, -INPUT.length));
  const isOwn = ({ id, by }: SessionMessage): boolean => isTheirs(by) || isOfRun(id, runs);
  const own = lines.filter((line) => isOwn(line) && line.content !== ERASED);
  const hasOwn = lines.some(isOwn);
  const scrub = scrubber(own, told, theirs);
  return {
    own,
    change(line) {
      // No words: it begins a session anew.
      if (line.cut) return undefined;
      if (isOwn(line)) return erased(line, hash);
      return isSummary(line) && hasOwn ? withoutSummary(line) : scrub(line);
    },
  };
}

/** The names under which they wrote, and the keys of their runs, as far as lines say whose they are. */
export function knownFrom(
  { principals }: Pick<Theirs, 'principals'>,
  lines: readonly SessionMessage[],
): { readonly names: readonly string[]; readonly runs: readonly string[] } {
  const own = lines.filter(({ id, by }) => id.endsWith(INPUT) && by !== undefined && principals.has(by));
  const names = own.flatMap(({ content }) => {
    const rows = content.split('\n').map((row) => NAMED.exec(row.replace(CORRECTED, ''))?.[1]);
    // What stands below is of others whose messages were answered with it.
    return rows.find((name) => name !== undefined && name !== NAMELESS) ?? [];
  });
  return { names, runs: own.map(({ id }) => id.slice(0, -INPUT.length)) };
}

/**
 * What a model wrote from older lines, which may be anyone's (`Conversation summary …` on its first line).
 */
function isSummary({ id, role }: SessionMessage): boolean {
  return id.startsWith(SUMMARY) && role === 'system';
}

function withoutSummary(line: SessionMessage): SessionMessage | undefined {
  const content = `${line.content.split('\n', 1)[0]}\n${ERASED}`;
  return content === line.content ? undefined : { ...line, content };
}

/** For rows: what they said is known from there. */
export function wordsRule(theirs: Theirs, hash: string, said: readonly string[]): ReturnType<WordsRule> {
  const rule = eraseRule(theirs, hash, []);
  const text = withoutWords({ said: said.flatMap(wordsIn), answered: [], ...namesOf(theirs) });
  return { text, line: (line) => rule.change(line) ?? scrubbed(line, text) };
}

/** Also of runs that it began: their keys begin with its own. */
function isOfRun(id: string, runs: ReadonlySet<string>): boolean {
  if (id.endsWith(INPUT) && runs.has(id.slice(0, -INPUT.length))) return true;
  for (let at = id.indexOf('#'); at >= 0; at = id.indexOf('#', at + 1)) if (runs.has(id.slice(0, at))) return true;
  return false;
}

/** What is told of others stands in the same text, behind two spaces. */
function isSaidBy({ role, content }: SessionMessage, marks: readonly string[]): boolean {
  if (role !== 'user') return false;
  const rows = content.split('\n').map((row) => row.replace(CORRECTED, ''));
  return rows.some((row) => marks.some((mark) => row.startsWith(`${mark} `)));
}

/** Undefined = it says nothing any more. What the wires check stays: roles, calls and their results. */
function erased(line: SessionMessage, hash: string): SessionMessage | undefined {
  const { id, role, content, tool_calls: calls, tool_call_id: call, taint, timestamp } = line;
  const isCalls = role === 'assistant' && content === '' && (calls?.length ?? 0) > 0;
  const said = isCalls ? '' : ERASED;
  const left = {
    ...{ id, role, content: said },
    ...(calls === undefined ? {} : { tool_calls: calls.map(({ id: callId, name }) => ({ id: callId, name, arguments: '{}' })) }),
    ...(call === undefined ? {} : { tool_call_id: call }),
    ...(id.endsWith(INPUT) || line.by !== undefined ? { by: hash } : {}),
    ...(taint === undefined ? {} : { taint }),
    timestamp,
  };
  return JSON.stringify(left) === JSON.stringify(line) ? undefined : left;
}

/** Longer words of a person in lines of theirs: what of them is known again elsewhere. */
export function phrasesOf(own: readonly SessionMessage[]): readonly string[] {
  const said = own.filter(isSaid).flatMap(({ content }) => wordsIn(content));
  return longestFirst(said.filter((words) => words.length >= PHRASE_CHARS));
}

/** Also what was written to others on their wish: it may be quoted there. */
function isSaid({ role, by }: SessionMessage): boolean {
  return role === 'user' || by !== undefined;
}

/** How they are named in what is told and quoted of them. */
interface Named {
  /** `[from NAME]` */
  readonly marks: readonly string[];
  /**
   * As in `in reply to another message (written by NAME, not by the sender)`; some channels show the id
   * there.
   */
  readonly origins: readonly string[];
}

function namesOf({ names, principals }: Theirs): Named {
  const shown = [...names, ...[...principals].map((principal) => principal.slice(principal.indexOf(':') + 1))];
  return { marks: names.map(fromMark), origins: shown.map((name) => `(${writtenBy(name)})`) };
}

/** Takes out of lines of others what they repeat. */
function scrubber(own: readonly SessionMessage[], told: readonly string[], theirs: Theirs): LineRule['change'] {
  const wordsOf = (lines: readonly SessionMessage[]): string[] => lines.flatMap(({ content }) => wordsIn(content));
  const text = withoutWords({
    said: [...wordsOf(own.filter(isSaid)), ...told.flatMap(wordsIn)],
    answered: wordsOf(own.filter((line) => line.role === 'assistant' && !isSaid(line))),
    ...namesOf(theirs),
  });
  return (line) => scrubbed(line, text);
}

/** Undefined = nothing of it changes. */
function scrubbed(line: SessionMessage, text: (text: string) => string): SessionMessage | undefined {
  const content = text(line.content);
  const reasoning = line.reasoning_content === undefined ? undefined : text(line.reasoning_content);
  const calls = line.tool_calls?.map((call) => ({ ...call, arguments: text(call.arguments) }));
  const isSame =
    content === line.content &&
    reasoning === line.reasoning_content &&
    (calls ?? []).every((call, n) => call.arguments === line.tool_calls?.[n]?.arguments);
  if (isSame) return undefined;
  // What a provider keeps of its thoughts cannot be read here.
  const { provider_state: _thoughts, ...kept } = line;
  return {
    ...kept,
    content,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(calls === undefined ? {} : { tool_calls: calls }),
  };
}

interface Words extends Named {
  readonly said: readonly string[];
  /** By the agent, to them: others may quote it, and it may be anyone's where it only stands in a text. */
  readonly answered: readonly string[];
}

/** Takes out what is told under their name, their longer sentences, and what is quoted of theirs. */
function withoutWords({ said, answered, marks, origins }: Words): (text: string) => string {
  const phrases = longestFirst(said);
  const long = phrases.filter((words) => words.length >= PHRASE_CHARS);
  const quoted = [...phrases, ...longestFirst(answered)];
  return (text) => {
    let left = withoutQueued(text, marks);
    if (marks.some((mark) => left.includes(mark)))
      left = eachRow(left, (row) => (marks.some((mark) => row.startsWith(`  ${mark} `)) ? `  ${ERASED}` : row));
    if (origins.some((origin) => left.includes(origin))) left = withoutOrigins(left, origins);
    for (const mark of marks) left = left.replaceAll(mark, ERASED);
    for (const words of long) if (left.includes(words)) left = left.replaceAll(words, ERASED);
    if (left.includes(`\n${QUOTED_LINE}`)) left = withoutQuoted(left, quoted);
    if (left.includes('“')) for (const words of quoted) left = left.replaceAll(`“${words}”`, `“${ERASED}”`);
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

function longestFirst(words: readonly string[]): readonly string[] {
  return [...new Set(words)].sort((a, b) => b.length - a.length).slice(0, MOST_PHRASES);
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

/** Words of several people that were one request: each of them, but for the first, has a head of its own. */
const QUEUED = /\n---\n(?=(?:\[[^\n]*\n(?:(?: {2}[^\n]*\n)+\]\n)?)?Queued #\d+:\n\[from )/;
const QUEUED_HEAD = /^(?:\[[^\n]*\n(?:(?: {2}[^\n]*\n)+\]\n)?)?(Queued #\d+:\n)/;

function withoutQueued(text: string, marks: readonly string[]): string {
  if (!text.includes('\nQueued #')) return text;
  const left = text.split(QUEUED).map((said) => {
    const [all = '', head = ''] = QUEUED_HEAD.exec(said) ?? [];
    return head !== '' && marks.some((mark) => said.startsWith(`${mark} `, all.length)) ? `${head}${ERASED}` : said;
  });
  return left.join('\n---\n');
}

/** The words of a line, as others may repeat them: whole, line by line, and as a quotation shows them. */
function wordsIn(content: string): readonly string[] {
  const rows = content.split('\n').filter((row) => !row.startsWith('  ') && row !== ']');
  const bare = rows.map((row) => row.replace(CORRECTED, '').replace(AUTHOR, '').replace(SPOKEN, '$1'));
  const said = bare.filter((row) => row !== '' && !row.startsWith('['));
  const whole = said.join('\n');
  const quoted = oneLine(whole.replace(/[“”]/g, '"'), QUOTED_CHARS);
  return [whole, quoted, ...said, ...said.flatMap((row) => row.split(INNER_END))].filter((text) => text.trim().length > 1);
}
