// lines of all sessions -> when calls of a person and of others ran, and what the person said -> files of shared
//   workspaces that hold their words: which were made in calls of theirs alone, and are named by no other
import { lstat, readdir, unlink } from 'node:fs/promises';
import { relative } from 'node:path';
import type { Theirs } from '../core/erasure.ts';
import { sessionOfArchive } from '../core/ids.ts';
import type { SessionMessage } from '../core/session.ts';
import { isErrno } from '../lib/errno.ts';
import { PathRefusal, WorkspaceDirectory } from '../workspace/path.ts';
import { eraseRule, PHRASE_CHARS, phrasesOf } from './erase-lines.ts';
import { sessionWorkspacePath } from './workspace.ts';

/** Shorter names and ids stand in files of everybody. */
const NAME_CHARS = 6;
const MOST_FILES = 20_000;
const MOST_BYTES = 4 * 1024 * 1024;
/** Characters that are looked at between two looks at what else is to be done. */
const SLICE_CHARS = 64 * 1024;
/** A file system notes times by a clock of its own, which is this much behind; those of lines are whole ms. */
const BEHIND_MS = 10;
const WHOLE_MS = 1;

/** Where the tools of a session write: those of a run within another session, in the directory of that one. */
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
  hasOwn: boolean;
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
   * Below the data directory, sorted: others may have a part in these. One that ends with `/` is a workspace
   * with more files than are looked at.
   */
  readonly left: readonly string[];
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
  const { dataDir } = options;
  const { places, isIn } = await readSessions(options);
  const atWork = new Set(options.busy.map((session) => workspaceOf(dataDir, session)));
  const left: string[] = [];
  const theirs: MadeFile[] = [];
  for (const [workspace, place] of places) {
    if (!place.hasOwn) continue;
    const onMore = (): number => left.push(`${relative(dataDir, workspace)}/`);
    for await (const { path, text, birthtimeMs, ctimeMs } of textsIn(workspace, onMore)) {
      if (!(await isIn(text))) continue;
      const file = { workspace, path, changedAt: ctimeMs };
      if (!atWork.has(workspace) && isMadeWithin(place, birthtimeMs, ctimeMs)) theirs.push(file);
      else left.push(leftName(dataDir, file));
    }
  }
  const named = await namedByOthers(options, theirs);
  left.push(...[...named].map((file) => leftName(dataDir, file)));
  return { theirs: theirs.filter((file) => !named.has(file)), left: left.sort() };
}

interface Read {
  /** By workspace. */
  readonly places: ReadonlyMap<string, Place>;
  /** Whether a text holds words of the person. */
  readonly isIn: (text: string) => Promise<boolean>;
}

async function readSessions({ dataDir, theirs, key, isOwn, sessions }: MadeFilesOptions): Promise<Read> {
  const places = new Map<string, Place>();
  const begun = new Map<string, { readonly own: Begun; readonly others: Begun }>();
  const starts = new Set<string>();
  for await (const { session, lines } of sessions()) {
    const own = isOwn(session) ? lines : eraseRule(theirs, key, lines).own;
    for (const words of phrasesOf(own)) starts.add(words.slice(0, PHRASE_CHARS));
    if (isOwn(session)) continue;
    const workspace = workspaceOf(dataDir, session);
    const place = places.get(workspace) ?? { own: [], others: [], hasOwn: false };
    places.set(workspace, place);
    place.hasOwn ||= own.length > 0;
    const calls = begun.get(session) ?? { own: new Map(), others: new Map() };
    begun.set(session, calls);
    place.own.push(...spansOf(own, calls.own));
    place.others.push(...spansOf(without(lines, own), calls.others));
  }
  const ids = [...theirs.principals].map((principal) => principal.slice(principal.indexOf(':') + 1));
  const names = [...ids, ...theirs.names].filter((name) => name.length >= NAME_CHARS);
  return { places, isIn: (text) => isWithin(text, names, starts) };
}

async function isWithin(text: string, names: readonly string[], starts: ReadonlySet<string>): Promise<boolean> {
  if (names.some((name) => text.includes(name))) return true;
  for (let at = 0; at + PHRASE_CHARS <= text.length; at += 1) {
    if (starts.has(text.slice(at, at + PHRASE_CHARS))) return true;
    if (at % SLICE_CHARS === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return false;
}

/**
 * Which of the files lines of others name, in whatever they wrote or called. A name counts wherever it stands,
 * also within a longer word: rather a file too many stays.
 */
async function namedByOthers(
  { dataDir, theirs, key, isOwn, sessions }: MadeFilesOptions,
  files: readonly MadeFile[],
): Promise<ReadonlySet<MadeFile>> {
  const named = new Set<MadeFile>();
  const of = Map.groupBy(files, ({ workspace }) => workspace);
  if (of.size === 0) return named;
  for await (const { session, lines } of sessions()) {
    const here = isOwn(session) ? undefined : of.get(workspaceOf(dataDir, session));
    if (!here) continue;
    for (const line of without(lines, eraseRule(theirs, key, lines).own)) {
      const words = folded(wordsOf(line));
      for (const file of here) if (words.includes(folded(file.path.split('/').at(-1) ?? ''))) named.add(file);
    }
  }
  return named;
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

interface Text {
  readonly path: string;
  readonly text: string;
  readonly birthtimeMs: number;
  readonly ctimeMs: number;
}

/**
 * Of each file that is no larger than what is looked at, as text. What came with messages is found by its name.
 * `onMore`: there are more files than are looked at.
 */
async function* textsIn(workspace: string, onMore: () => void): AsyncIterable<Text> {
  let left = MOST_FILES;
  const within: string[][] = [[]];
  for (let names = within.pop(); names !== undefined; names = within.pop()) {
    try {
      await using directory = await WorkspaceDirectory.open(workspace, names);
      for (const entry of await readdir(directory.self, { withFileTypes: true })) {
        if (entry.isDirectory() && !(names.length === 0 && entry.name === 'uploads')) within.push([...names, entry.name]);
        if (!entry.isFile()) continue;
        left -= 1;
        if (left < 0) return onMore();
        const read = await textOf(directory, entry.name);
        if (read) yield { ...read, path: [...names, entry.name].join('/') };
      }
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
}

async function textOf(directory: WorkspaceDirectory, name: string): Promise<Omit<Text, 'path'> | undefined> {
  try {
    await using file = await directory.openFile(name);
    const { size, birthtimeMs, ctimeMs } = await file.stat();
    return size > MOST_BYTES ? undefined : { text: await file.readFile('utf8'), birthtimeMs, ctimeMs };
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** It went meanwhile, or a link took its place: then it is none of the workspace's files. */
function isGone(error: unknown): boolean {
  return error instanceof PathRefusal || isErrno(error, 'ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM');
}

/** False = it is gone, or another took its place since it was looked at. */
export async function eraseFile({ workspace, path, changedAt }: MadeFile): Promise<boolean> {
  try {
    const names = path.split('/');
    await using parent = await WorkspaceDirectory.open(workspace, names.slice(0, -1));
    const file = parent.child(names.at(-1) ?? '');
    if ((await lstat(file)).ctimeMs !== changedAt) return false;
    await unlink(file);
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}
