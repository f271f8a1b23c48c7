// lines of a session of several people -> files that came with messages of a person, or that tools wrote for
// them
import { readdir, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Erasure } from '../core/erasure.ts';
import type { SessionMessage } from '../core/session.ts';
import { isErrno, orNone } from '../lib/errno.ts';
import { fromMark } from '../lib/marks.ts';
import { removeTree, writeIn } from '../lib/remove-tree.ts';
import { storedStem } from '../media/fetch-file.ts';
import { openParent, PathRefusal, splitWorkspacePath, WorkspaceDirectory } from '../workspace/path.ts';
import { MAX_FILES } from './prepare.ts';
import { isOfSeveral, runOfInput } from './queued-words.ts';
import { sessionWorkspacePath } from './workspace.ts';

/** Tools that write the file that their argument `path` names. */
const WRITING = ['write_file', 'edit_file', 'diff_edit'];
/** They change a file that is there: whose it is they do not say. */
const CHANGING = ['edit_file', 'diff_edit'];
const CONVERTING = 'convert_markdown_to_docx';

/** Files that came with their messages into a chat of several. */
export async function eraseUploads(
  session: string,
  own: readonly SessionMessage[],
  theirs: Pick<Erasure, 'runs' | 'names'>,
  dataDir: string,
): Promise<number> {
  const paths = await uploadsOf(session, own, theirs, dataDir);
  if (paths.length === 0) return 0;
  try {
    await using folder = await WorkspaceDirectory.open(sessionWorkspacePath(dataDir, session), ['uploads']);
    // A program may have unpacked a file beside it, under its name.
    for (const path of paths) await writeIn(folder, () => removeTree(folder.child(basename(path))));
    return paths.length;
  } catch (error) {
    // A link took its place: then nothing of it is the workspace's.
    if (!(error instanceof PathRefusal)) throw error;
    return 0;
  }
}

/** `own`: lines of theirs in this session. */
export async function uploadsOf(
  session: string,
  own: readonly SessionMessage[],
  { runs, names }: Pick<Erasure, 'runs' | 'names'>,
  dataDir: string,
): Promise<readonly string[]> {
  const dir = join(sessionWorkspacePath(dataDir, session), 'uploads');
  // Of what others said with it the files are theirs.
  const marks = names.map(fromMark);
  const shared = own.filter((line) => isOfSeveral(line, marks));
  const alone = own.filter((line) => !shared.includes(line));
  const paths = new Set(
    alone.flatMap(({ media = [] }) => media).filter((path) => path.startsWith('uploads/') && !path.includes('..')),
  );
  const keys = [...runs, ...shared.map(runOfInput)];
  const stems = new Set(keys.flatMap((id) => Array.from({ length: MAX_FILES }, (_, index) => storedStem({ id }, index))));
  const stored = await readdir(dir).catch(orNone);
  // A file of which no type is known has a name without an ending.
  const known = new Set([...stems, ...[...paths].map((path) => stemOf(path.slice('uploads/'.length)))]);
  return stored.filter((name) => known.has(stemOf(name))).map((name) => join(dir, name));
}

function stemOf(name: string): string {
  return name.split('.', 1)[0] ?? '';
}

/** Files that tools wrote in a shared workspace for requests of theirs alone, as far as the lines tell. */
export async function eraseWritten(
  workspace: string,
  lines: readonly SessionMessage[],
  own: ReadonlySet<SessionMessage>,
  /** What lines of others in other sessions wrote there (`writtenPaths`). */
  byOthers: ReadonlySet<string> = new Set(),
): Promise<number> {
  let count = 0;
  for (const path of writtenAlone(lines, own)) {
    if (byOthers.has(path)) continue;
    try {
      const { parent, name } = await openParent(workspace, path);
      await using _ = parent;
      await writeIn(parent, () => unlink(parent.child(name)));
      count += 1;
    } catch (error) {
      // It is gone, was never written, or leads out of the workspace: then it is none of its files.
      if (!(error instanceof PathRefusal) && !isErrno(error, 'ENOENT', 'ENOTDIR', 'EISDIR', 'EPERM')) throw error;
    }
  }
  return count;
}

/**
 * Paths in the workspace that calls of these lines wrote as a whole, and no call of the other lines. A file
 * that they only changed is none: a program of another may have made it, or another sent it.
 */
export function writtenAlone(lines: readonly SessionMessage[], own: ReadonlySet<SessionMessage>): readonly string[] {
  const others = new Set(lines.filter((line) => !own.has(line)).flatMap((line) => writtenPaths(line)));
  return [...new Set([...own].flatMap(madePaths))].filter((path) => !others.has(path));
}

/** Those of `writtenPaths` that the calls wrote as a whole. */
export function madePaths(line: SessionMessage): readonly string[] {
  return writtenPaths(line, (tool) => !CHANGING.includes(tool));
}

/** Paths in the workspace that the calls of a line wrote, each in one form. What a tool refuses is none. */
export function writtenPaths(
  { tool_calls: calls = [] }: SessionMessage,
  isMeant: (tool: string) => boolean = () => true,
): readonly string[] {
  return calls.flatMap(({ name, arguments: text }) => {
    if (!isMeant(name)) return [];
    const path = name === CONVERTING ? convertedPath(text) : WRITING.includes(name) ? argumentIn(text, 'path') : undefined;
    return path === undefined ? [] : namedBy(path);
  });
}

/** As the tools read it. */
function namedBy(path: string): readonly string[] {
  try {
    return [splitWorkspacePath(path).join('/')].filter((name) => name !== '');
  } catch (error) {
    if (error instanceof PathRefusal) return [];
    throw error;
  }
}

/** Where it names no target, the document lies beside its source. */
function convertedPath(text: string): string | undefined {
  return (
    argumentIn(text, 'target_path') ??
    argumentIn(text, 'source_path')
      ?.replace(/\.[^./]*$/, '')
      .concat('.docx')
  );
}

/** The arguments are as the model wrote them: they may be anything. */
function argumentIn(text: string, name: string): string | undefined {
  try {
    const { [name]: path } = JSON.parse(text) as { readonly [name: string]: unknown };
    return typeof path === 'string' ? path : undefined;
  } catch {
    return undefined;
  }
}
