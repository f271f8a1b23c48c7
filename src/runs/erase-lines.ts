// lines of a session that others have a part in -> which are a person's who is erased -> `[erased]`
import { withoutAuthors } from '../core/authored-ids.ts';
import { ERASED, type Theirs, type WordsRule } from '../core/erasure.ts';
import type { SessionMessage } from '../core/session.ts';
import { fromMark } from '../lib/marks.ts';
import {
  filesOfRuns,
  isOfSeveral,
  joinedWithout,
  leadingWords,
  runOfInput,
  withoutJoined,
  withoutLeading,
} from './queued-words.ts';
import { CORRECTED, longestFirst, namesOf, PHRASE_CHARS, sentencesIn, withoutWords, wordsIn } from './repeated-words.ts';

const NAMED = /^\[from ([^\]]*)\] /;
/** As the mark calls people whose names show nothing (`nameInMark`). */
const NAMELESS = 'unnamed';
const INPUT = ':in';
/** How ids of summaries begin. No key of a message does: no channel has such a name. */
const SUMMARY = 'compacted:';

export interface LineRule {
  readonly change: (line: SessionMessage) => SessionMessage | undefined;
  /**
   * The same of lines of others alone. It comes first: it needs the words of the person, which are erased by
   * `change`.
   */
  readonly changeOthers: (line: SessionMessage) => SessionMessage | undefined;
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
  const unauthored = withoutAuthors(theirs.principals, hash);
  const runs = new Set([...theirs.runs].flatMap((run) => [run, unauthored(run)]));
  const isTheirs = (by: string | undefined): boolean => by !== undefined && (theirs.principals.has(by) || by === hash);
  const marks = theirs.names.map(fromMark);
  for (const line of lines)
    if (line.id.endsWith(INPUT) && (isTheirs(line.by) || (line.by === undefined && isSaidBy(line, marks))))
      runs.add(runOfInput(line));
  for (const { by, run } of lines.flatMap(({ joined = [] }) => joined)) if (isTheirs(by) && run !== undefined) runs.add(run);
  const isOwn = ({ id, by }: SessionMessage): boolean => isTheirs(by) || isOfRun(id, runs);
  const own = lines.filter((line) => isOwn(line) && line.content !== ERASED);
  const hasOwn = lines.some((line) => isOwn(line) || line.joined?.some(({ by }) => isTheirs(by)));
  const scrub = scrubber(own, told, theirs);
  const isTheirFile = filesOfRuns(runs);
  const othersOf = (line: SessionMessage): Pick<SessionMessage, 'content' | 'media' | 'joined'> => {
    const { content, ...media } = withoutLeading(line, marks, isTheirFile, isTheirs);
    const joined = line.joined && joinedWithout(line.joined, isTheirs, hash);
    return { ...media, content: scrub({ ...line, content })?.content ?? content, ...(joined ? { joined } : {}) };
  };
  const ofOthers = (line: SessionMessage): SessionMessage | undefined => {
    const left = withoutJoined(line, { isTheirs, hash, marks, isTheirFile });
    return scrub(left ?? line) ?? left;
  };
  const changed: LineRule['change'] = (line) => {
    // No words: it begins a session anew.
    if (line.cut) return undefined;
    if (isOwn(line)) return erased(line, hash, isOfSeveral(line, marks) ? othersOf(line) : undefined);
    if (isSummary(line) && hasOwn) return withoutSummary(line);
    return ofOthers(line);
  };
  return {
    own,
    changeOthers: (line) => (line.cut || isOwn(line) || isSummary(line) ? undefined : ofOthers(line)),
    change: (line) => withIds(line, changed(line), unauthored),
  };
}

/** Ids of all lines, since summaries and runs that wait are called by them. */
function withIds(line: SessionMessage, changed: SessionMessage | undefined, change: (id: string) => string): typeof changed {
  const left = changed ?? line;
  const [id, beside] = [change(left.id), left.beside && change(left.beside)];
  if (id === left.id && beside === left.beside) return changed;
  return { ...left, id, ...(beside === undefined ? {} : { beside }) };
}

/** Whether what could not be read of a session is theirs: it has their id, their name or the key of a run. */
export function isNamedBy({ principals, runs, names }: Theirs): (unreadable: string) => boolean {
  const quoted = [...principals, ...[...runs].map((run) => `${run}${INPUT}`)].map((text) => JSON.stringify(text));
  const marks = names.map((name) => JSON.stringify(fromMark(name)).slice(1, -1));
  const calls = [...runs].map((run) => `${JSON.stringify(run).slice(0, -1)}#`);
  return (unreadable) => [...quoted, ...calls, ...marks].some((text) => unreadable.includes(text));
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
  const joined = lines.flatMap(({ joined: all = [] }) => all.filter(({ by }) => principals.has(by)));
  return { names, runs: [...own.map(runOfInput), ...joined.flatMap(({ run }) => run ?? [])] };
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
  const text = withoutWords({
    ...{ said: said.flatMap(wordsIn), sentences: said.flatMap(sentencesIn), answered: [] },
    ...namesOf(theirs),
  });
  return {
    text,
    line(line) {
      const left = rule.change(line);
      return scrubbed(left ?? line, text) ?? left;
    },
  };
}

/** Also of runs that it began: their keys begin with its own. */
function isOfRun(id: string, runs: ReadonlySet<string>): boolean {
  if (id.endsWith(INPUT) && runs.has(id.slice(0, -INPUT.length))) return true;
  for (let at = id.indexOf('#'); at >= 0; at = id.indexOf('#', at + 1)) if (runs.has(id.slice(0, at))) return true;
  return false;
}

/** What is told of others stands in the same text, behind two spaces, or below the words. */
function isSaidBy({ role, content }: SessionMessage, marks: readonly string[]): boolean {
  if (role !== 'user') return false;
  const rows = leadingWords(content)
    .split('\n')
    .map((row) => row.replace(CORRECTED, ''));
  return rows.some((row) => marks.some((mark) => row.startsWith(`${mark} `)));
}

/** Undefined = it says nothing any more. What the wires check stays: roles, calls and their results. */
function erased(
  line: SessionMessage,
  hash: string,
  /** What others said with it. */
  others: Pick<SessionMessage, 'content' | 'media' | 'joined'> | undefined,
): SessionMessage | undefined {
  const { id, role, content, tool_calls: calls, tool_call_id: call, taint, timestamp } = line;
  const isCalls = role === 'assistant' && content === '' && (calls?.length ?? 0) > 0;
  const said = isCalls ? '' : ERASED;
  const { joined: _joined, ...shared } = others ?? {};
  const left = {
    ...{ id, role, content: said, ...shared },
    ...(calls === undefined ? {} : { tool_calls: calls.map(({ id: callId, name }) => ({ id: callId, name, arguments: '{}' })) }),
    ...(call === undefined ? {} : { tool_call_id: call }),
    ...(id.endsWith(INPUT) || line.by !== undefined ? { by: hash } : {}),
    // In the order of the file: what was erased before must be the same.
    ...(others?.joined ? { joined: others.joined } : {}),
    ...(taint === undefined ? {} : { taint }),
    timestamp,
  };
  return JSON.stringify(left) === JSON.stringify(line) ? undefined : left;
}

/** Longer words of a person in lines of theirs: what of them is known again elsewhere. */
export function phrasesOf(own: readonly SessionMessage[]): readonly string[] {
  const said = own
    .filter(isSaid)
    .map(({ content }) => leadingWords(content))
    .flatMap((words) => [...wordsIn(words), ...sentencesIn(words)]);
  return longestFirst(said.filter((words) => words.length >= PHRASE_CHARS));
}

/** Also what was written to others on their wish: it may be quoted there. */
function isSaid({ role, by }: SessionMessage): boolean {
  return role === 'user' || by !== undefined;
}

/** Takes out of lines of others what they repeat. */
function scrubber(own: readonly SessionMessage[], told: readonly string[], theirs: Theirs): LineRule['change'] {
  const marks = theirs.names.map(fromMark);
  const leading = (lines: readonly SessionMessage[]): string[] => lines.map(({ content }) => leadingWords(content, marks));
  const said = [...leading(own.filter(isSaid)), ...told];
  const answered = leading(own.filter((line) => line.role === 'assistant' && !isSaid(line)));
  const text = withoutWords({
    ...{ said: said.flatMap(wordsIn), sentences: said.flatMap(sentencesIn), answered: answered.flatMap(wordsIn) },
    ...namesOf(theirs),
  });
  return (line) => scrubbed(line, text);
}

type Change = ReturnType<WordsRule>['text'];

/** Undefined = nothing of it changes. */
function scrubbed(line: SessionMessage, text: Change): SessionMessage | undefined {
  const content = text(line.content, line.role === 'user');
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
