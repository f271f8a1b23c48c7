// lines of all sessions -> when calls of a person and of others ran, and what the person said -> files of
//   shared workspaces that hold their words: those made in calls of theirs alone and named by no other
import { existsSync } from 'node:fs';
import { lstat, unlink } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Theirs, WorkedIn } from '../core/erasure.ts';
import { sessionOfArchive } from '../core/ids.ts';
import type { SessionMessage } from '../core/session.ts';
import { ByteSearch, encodedForms } from '../lib/byte-search.ts';
import { writeIn } from '../lib/remove-tree.ts';
import { WorkspaceDirectory } from '../workspace/path.ts';
import { eraseRule, phrasesOf } from './erase-lines.ts';
import { PHRASE_CHARS } from './repeated-words.ts';
import { FileSearch, isGone, type SearchOptions } from './search-files.ts';
import { sessionWorkspacePath } from './workspace.ts';
import { madePaths, writtenPaths } from './written-files.ts';

/** Shorter names and ids stand in files of everybody. */
const NAME_CHARS = 6;
/** As far as a name is looked for. */
const MOST_NAME_CHARS = 200;
/** Characters that are searched for names between two looks at what else is to be done. */
const SEARCHED_CHARS = 4 * 1024 * 1024;
/** What one search costs besides, in the same measure. */
const SEARCH_CHARS = 1_000;
/** A file system notes times by its own clock, which is this much behind. Those of lines are whole ms. */
const BEHIND_MS = 10;
const WHOLE_MS = 1;
/** Its objects are packed one by one. */
const IN_REPOSITORY = /^((?:.*?\/)?\.git)\/.*$/s;
/** Of a character that was cut in two. */
const HALF = /[\ud800-\udbff]$/;

/**
 * At the top of the data directory: what an erasure goes through in ways of its own, copies that the command
 * names, and what is installed.
 */
const SEARCHED_OTHERWISE = ['users', 'workspaces', 'outgoing', 'upload-days', 'chat', 'packages', 'plugins', 'plugin-copies'];

function isElsewhere(name: string): boolean {
  return SEARCHED_OTHERWISE.includes(name) || /^(?:journal|lock)\.db/.test(name);
}

/** Where the tools of a session write. A run within another session writes in the directory of that one. */
export function workspaceOf(dataDir: string, session: string): string {
  const within = /^(.*?)#(?:task|run):/s.exec(session)?.[1];
  return sessionWorkspacePath(dataDir, within === undefined ? session : sessionOfArchive(within));
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** By the id of a call: when it was asked for, as long as no result of it is known. */
type Begun = Map<string, number>;

interface Place {
  /** When calls ran: of the person, and of others. */
  readonly own: Span[];
  readonly others: Span[];
  /** When the person first wrote there, epoch ms. Infinity: never. */
  since: number;
  /** Files that came with messages and were not removed yet. */
  readonly uploads: Set<string>;
  /** Files that tools wrote for the person: as a whole, and in any way. */
  readonly made: Set<string>;
  readonly written: Set<string>;
}

/** Lines of a session, or the next ones of it. */
export interface SessionLines {
  readonly session: string;
  readonly lines: readonly SessionMessage[];
}

export interface MadeFilesOptions {
  readonly dataDir: string;
  readonly theirs: Theirs;
  /** Stands in place of their id in lines that were erased. */
  readonly key: string;
  readonly isOwn: (session: string) => boolean;
  /** All lines there are, those of each session in their order. They are walked twice. */
  readonly sessions: () => AsyncIterable<SessionLines>;
  /** Sessions in whose workspaces runs are under way; what their calls made no line says yet. */
  readonly busy: readonly string[];
  /** Sessions of the person whose runs worked in the workspace of another one. Absent = none. */
  readonly worked?: readonly WorkedIn[];
  readonly signal?: SearchOptions['signal'];
  readonly onProgress?: SearchOptions['onProgress'];
}

/** A file of a shared workspace that holds words of the person. */
export interface MadeFile {
  readonly workspace: string;
  /** In the workspace. */
  readonly path: string;
  /** Epoch ms. */
  readonly changedAt: number;
}

export interface MadeFiles {
  /**
   * They were made and last changed while calls of the person ran and none of others did, and no other named
   * them.
   */
  readonly theirs: readonly MadeFile[];
  /**
   * Below the data directory, sorted: others may have a part in these, also in files that tools only changed
   * for the person, or they are no files of a workspace. One that ends with `/` is a workspace with more
   * files than are looked at.
   */
  readonly left: readonly string[];
  /**
   * Below the data directory, sorted: files that were written after the person first wrote there and cannot
   * be searched, because they are packed, closed or too large.
   */
  readonly unsearched: readonly string[];
}

/** Below the data directory. */
export function leftName(dataDir: string, { workspace, path }: MadeFile): string {
  return relative(dataDir, `${workspace}/${path}`);
}

/**
 * What programs wrote is named by no line: a shell tells which commands ran, and not which files they made.
 * What can be known is when a file was made, who had a call under way then, and what it says.
 */
export async function madeFiles(options: MadeFilesOptions): Promise<MadeFiles> {
  const { dataDir, signal, onProgress } = options;
  const { places, searches } = await readSessions(options);
  const atWork = new Set(options.busy.map((session) => workspaceOf(dataDir, session)));
  const left: string[] = [];
  const unsearched = new Set<string>();
  const theirs: MadeFile[] = [];
  const search = new FileSearch({ searches, signal, onProgress });
  for (const [workspace, place] of places) {
    const changed = new Set([...place.written].filter((path) => !place.made.has(path)));
    for (const path of changed) if (existsSync(join(workspace, path))) left.push(relative(dataDir, join(workspace, path)));
    if (place.since === Number.POSITIVE_INFINITY) continue;
    const onMore = (): number => left.push(`${relative(dataDir, workspace)}/`);
    for await (const { path, kind, birthtimeMs, ctimeMs } of search.in(workspace, onMore)) {
      const file = { workspace, path, changedAt: ctimeMs };
      // What came with a message is found by its name.
      const isUpload = path.startsWith('uploads/');
      if (changed.has(path)) continue;
      if (kind !== 'words') {
        if (ctimeMs >= place.since && !place.uploads.has(path))
          unsearched.add(leftName(dataDir, { ...file, path: path.replace(IN_REPOSITORY, '$1') }));
      } else if (!isUpload && !atWork.has(workspace) && isMadeWithin(place, birthtimeMs, ctimeMs)) theirs.push(file);
      else left.push(leftName(dataDir, file));
    }
  }
  for await (const { path, kind } of search.in(dataDir, () => left.push('./'), isElsewhere))
    if (kind === 'words') left.push(path);
  const named = await namedByOthers(options, theirs);
  left.push(...[...named].map((file) => leftName(dataDir, file)));
  return { theirs: theirs.filter((file) => !named.has(file)), left: left.sort(), unsearched: [...unsearched].sort() };
}

interface Read {
  /** By workspace. */
  readonly places: ReadonlyMap<string, Place>;
  /** For words of the person. */
  readonly searches: readonly ByteSearch[];
}

async function readSessions(options: MadeFilesOptions): Promise<Read> {
  const { dataDir, theirs, key, isOwn, sessions, worked = [] } = options;
  const places = new Map<string, Place>();
  const begun = new Map<string, { readonly own: Begun; readonly others: Begun }>();
  const starts = new Set<string>();
  for await (const { session, lines } of sessions()) {
    const own = isOwn(session) ? lines : eraseRule(theirs, key, lines).own;
    for (const words of phrasesOf(own)) starts.add(words.slice(0, PHRASE_CHARS).replace(HALF, ''));
    const base = session.replace(/#(?:run|task):.*$/s, '');
    const elsewhere = worked.find((one) => one.session === base && !isOwn(one.workspace))?.workspace;
    if (isOwn(session) && elsewhere === undefined) continue;
    const workspace = workspaceOf(dataDir, elsewhere ?? session);
    const files: Pick<Place, 'uploads' | 'made' | 'written'> = { uploads: new Set(), made: new Set(), written: new Set() };
    const place = places.get(workspace) ?? { own: [], others: [], since: Number.POSITIVE_INFINITY, ...files };
    places.set(workspace, place);
    for (const { timestamp } of own) place.since = Math.min(place.since, Date.parse(timestamp) || 0);
    for (const { media = [] } of lines) for (const path of media) place.uploads.add(path);
    const calls = begun.get(session) ?? { own: new Map(), others: new Map() };
    begun.set(session, calls);
    for (const path of own.flatMap(madePaths)) place.made.add(path);
    for (const path of own.flatMap((line) => writtenPaths(line))) place.written.add(path);
    // One by one: a call takes no more arguments than the stack holds.
    for (const span of spansOf(own, calls.own)) place.own.push(span);
    for (const span of spansOf(without(lines, own), calls.others)) place.others.push(span);
  }
  const ids = [...theirs.principals].map((principal) => principal.slice(principal.indexOf(':') + 1));
  const names = [...ids, ...theirs.names].filter((name) => name.length >= NAME_CHARS);
  const shown = names.map((name) => name.slice(0, MOST_NAME_CHARS).replace(HALF, ''));
  // Short texts slow down a search: two of them are faster.
  return { places, searches: [shown, [...starts]].map((texts) => new ByteSearch(texts.flatMap(encodedForms))) };
}

/**
 * Which of the files lines of others name, in whatever they wrote or called. A name counts wherever it
 * stands, also within a longer word: one file too many stays rather than one too few.
 */
async function namedByOthers(
  { dataDir, theirs, key, isOwn, sessions }: MadeFilesOptions,
  files: readonly MadeFile[],
): Promise<ReadonlySet<MadeFile>> {
  const of = Map.groupBy(files, ({ workspace }) => workspace);
  if (of.size === 0) return new Set();
  const sought = new Map([...of].map(([workspace, here]) => [workspace, new Set(here.map(nameOf))]));
  let searched = 0;
  for await (const { session, lines } of sessions()) {
    const here = isOwn(session) ? undefined : sought.get(workspaceOf(dataDir, session));
    if (!here) continue;
    for (const line of without(lines, eraseRule(theirs, key, lines).own)) {
      const words = folded(wordsOf(line));
      for (const name of here) {
        if (words.includes(name)) here.delete(name);
        searched += words.length + SEARCH_CHARS;
        if (searched < SEARCHED_CHARS) continue;
        searched = 0;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }
  return new Set(files.filter((file) => !sought.get(file.workspace)?.has(nameOf(file))));
}

function nameOf({ path }: MadeFile): string {
  return folded(path.split('/').at(-1) ?? '');
}

function without(lines: readonly SessionMessage[], own: readonly SessionMessage[]): readonly SessionMessage[] {
  const known = new Set(own);
  return lines.filter((line) => !known.has(line));
}

/** One name is written in several ways. */
function folded(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

/** What it says, and what it calls: as the model wrote it, and as the tool read it. */
function wordsOf({ content, tool_calls: calls = [] }: SessionMessage): string {
  return [content, ...calls.flatMap(({ arguments: text }) => [text, ...stringsIn(text)])].join('\n');
}

function stringsIn(json: string): readonly string[] {
  const strings: string[] = [];
  try {
    JSON.parse(json, (_key, value: unknown) => typeof value === 'string' && strings.push(value));
  } catch {
    // The arguments are as the model wrote them: they may be anything.
  }
  return strings;
}

/** From the answer of the model that asked for a call to what came of it. */
function spansOf(lines: readonly SessionMessage[], begun: Begun): readonly Span[] {
  return lines.flatMap(({ tool_calls: calls = [], tool_call_id: result, timestamp }) => {
    const at = Date.parse(timestamp);
    for (const { id } of calls) begun.set(id, at);
    const from = result === undefined ? undefined : begun.get(result);
    return from === undefined ? [] : [{ from: from - BEHIND_MS, to: at + WHOLE_MS }];
  });
}

function isMadeWithin({ own, others }: Place, born: number, changed: number): boolean {
  const isOwn = (at: number): boolean => own.some(({ from, to }) => from <= at && at <= to);
  return born > 0 && isOwn(born) && isOwn(changed) && !others.some(({ from, to }) => from <= changed && born <= to);
}

/**
 * Gives those that are gone, or whose place another took since they were looked at. One after the other: a
 * process may have so many files open only.
 */
export async function eraseFiles(files: readonly MadeFile[]): Promise<readonly MadeFile[]> {
  const others: MadeFile[] = [];
  for (const file of files) if (!(await eraseFile(file))) others.push(file);
  return others;
}

async function eraseFile({ workspace, path, changedAt }: MadeFile): Promise<boolean> {
  try {
    const names = path.split('/');
    await using parent = await WorkspaceDirectory.open(workspace, names.slice(0, -1));
    const file = parent.child(names.at(-1) ?? '');
    if ((await lstat(file)).ctimeMs !== changedAt) return false;
    await writeIn(parent, () => unlink(file));
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}
