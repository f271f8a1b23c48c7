// lines of all sessions -> when calls of a person and of others ran, and what the person said -> files of shared
//   workspaces that hold their words: which were made in calls of theirs alone
import { readdir, unlink } from 'node:fs/promises';
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
/** What looks like the name of a file, in words and in arguments of calls. */
const NAMES = /[^\s"'`\\/<>|;:,()[\]{}]+\.[A-Za-z0-9]{1,8}/g;

/** Where the tools of a session write: those of a run within another session, in the directory of that one. */
export function workspaceOf(dataDir: string, session: string): string {
  const within = /^(.*?)#(?:task|run):/s.exec(session)?.[1];
  return sessionWorkspacePath(dataDir, within === undefined ? session : sessionOfArchive(within));
}

interface Span {
  readonly from: number;
  readonly to: number;
}

interface Place {
  /** When calls ran: of the person, and of others. */
  readonly own: Span[];
  readonly others: Span[];
  /** Names of files that others spoke of. */
  readonly named: Set<string>;
  hasOwn: boolean;
}

/** A file of a shared workspace that holds words of the person. */
export interface FileWithWords {
  readonly workspace: string;
  /** In the workspace. */
  readonly path: string;
  /**
   * It was made and last changed while calls of theirs ran and none of others did, and no other spoke of it.
   * False also where that cannot be known.
   */
  readonly isTheirs: boolean;
}

export interface MadeFilesOptions {
  readonly dataDir: string;
  readonly theirs: Theirs;
  /** Stands in place of their id in lines that were erased. */
  readonly key: string;
  readonly isOwn: (session: string) => boolean;
}

/**
 * What programs wrote is named by no line: a shell tells which commands ran, and not which files they made.
 * What can be known is when a file was made, who had a call under way then, and what it says.
 */
export class MadeFiles {
  readonly #options: MadeFilesOptions;
  readonly #places = new Map<string, Place>();
  readonly #starts = new Set<string>();
  readonly #names: readonly string[];

  constructor(options: MadeFilesOptions) {
    this.#options = options;
    const { principals, names } = options.theirs;
    const ids = [...principals].map((principal) => principal.slice(principal.indexOf(':') + 1));
    this.#names = [...ids, ...names].filter((name) => name.length >= NAME_CHARS);
  }

  /** Lines of a session, or of a part of it. All sessions have to be added before `find`. */
  add(session: string, lines: readonly SessionMessage[]): void {
    const { dataDir, theirs, key, isOwn } = this.#options;
    const own = isOwn(session) ? lines : eraseRule(theirs, key, lines).own;
    for (const words of phrasesOf(own)) this.#starts.add(words.slice(0, PHRASE_CHARS));
    if (isOwn(session)) return;
    const workspace = workspaceOf(dataDir, session);
    const place = this.#places.get(workspace) ?? { own: [], others: [], named: new Set(), hasOwn: false };
    this.#places.set(workspace, place);
    place.hasOwn ||= own.length > 0;
    const known = new Set(own);
    const others = lines.filter((line) => !known.has(line));
    place.own.push(...spansOf(own));
    place.others.push(...spansOf(others));
    for (const { content, tool_calls: calls = [] } of others)
      for (const text of [content, ...calls.map((call) => call.arguments)])
        for (const [name] of text.matchAll(NAMES)) place.named.add(name);
  }

  /** `busy`: sessions in whose workspaces runs are under way; what their calls made no line says yet. */
  async *find(busy: readonly string[]): AsyncIterable<FileWithWords> {
    const atWork = new Set(busy.map((session) => workspaceOf(this.#options.dataDir, session)));
    for (const [workspace, place] of this.#places) {
      if (!place.hasOwn) continue;
      for await (const { path, name, text, birthtimeMs, ctimeMs } of textsIn(workspace)) {
        if (!(await this.#isIn(text))) continue;
        const isKnown = !atWork.has(workspace) && name.includes('.') && !place.named.has(name);
        yield { workspace, path, isTheirs: isKnown && isMadeWithin(place, birthtimeMs, ctimeMs) };
      }
    }
  }

  async #isIn(text: string): Promise<boolean> {
    if (this.#names.some((name) => text.includes(name))) return true;
    for (let at = 0; at + PHRASE_CHARS <= text.length; at += 1) {
      if (this.#starts.has(text.slice(at, at + PHRASE_CHARS))) return true;
      if (at % SLICE_CHARS === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return false;
  }
}

/** From the answer of the model that asked for a call to what came of it. */
function spansOf(lines: readonly SessionMessage[]): readonly Span[] {
  const begun = new Map<string, number>();
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
  readonly name: string;
  readonly text: string;
  readonly birthtimeMs: number;
  readonly ctimeMs: number;
}

/** Of each file that is no larger than what is looked at, as text. What came with messages is found by its name. */
async function* textsIn(workspace: string): AsyncIterable<Text> {
  let left = MOST_FILES;
  const within: string[][] = [[]];
  for (let names = within.pop(); names !== undefined; names = within.pop()) {
    try {
      await using directory = await WorkspaceDirectory.open(workspace, names);
      for (const entry of await readdir(directory.self, { withFileTypes: true })) {
        if (entry.isDirectory() && !(names.length === 0 && entry.name === 'uploads')) within.push([...names, entry.name]);
        if (!entry.isFile()) continue;
        left -= 1;
        if (left < 0) return;
        const read = await textOf(directory, entry.name);
        if (read) yield { ...read, name: entry.name, path: [...names, entry.name].join('/') };
      }
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
}

async function textOf(directory: WorkspaceDirectory, name: string): Promise<Omit<Text, 'path' | 'name'> | undefined> {
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

/** False = it was gone. */
export async function eraseFile(workspace: string, path: string): Promise<boolean> {
  try {
    const names = path.split('/');
    await using parent = await WorkspaceDirectory.open(workspace, names.slice(0, -1));
    await unlink(parent.child(names.at(-1) ?? ''));
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}
