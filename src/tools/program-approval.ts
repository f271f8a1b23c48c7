// a command and its workspace -> what a yes to it covers: the directory, and every file that it could run
import { createHash } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { lstat, mkdir, opendir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Bounds } from '../core/process.ts';
import type { ApprovalFacts, ToolContext } from '../core/tool.ts';
import { isErrno } from '../lib/errno.ts';
import { ToolFailure } from './define.ts';
import { boundsFacts } from './program-bounds.ts';

export type ApprovalCall = Pick<ToolContext, 'workspace' | 'signal'>;

/** A workspace with more entries cannot be vouched for within the time a question may take. */
const MAX_ENTRIES = 20_000;
/** Of the name of what cannot be read. UTF-16 units. */
const PATH_CHARS = 200;
/** Words alone, with nothing that a shell reads as more than words. */
const PLAIN = /^[A-Za-z0-9_./=:@%+,-]+(?: +[A-Za-z0-9_./=:@%+,-]+)*$/;
/**
 * Programs that a yes for the session may be about: whatever follows, each of them only reads what the
 * sandbox lets it read, writes to its output alone, and starts nothing. Most programs have an option that
 * does more: `sort --compress-program` and `rg --pre` run one, `sort -o`, `uniq IN OUT` and `tree -o` write
 * files, `diff -l` and `file -z` start others, `date -s` sets the clock. A new one is entered once its manual
 * was read for that.
 */
const READS_ALONE = new Set([
  ...['ls', 'pwd', 'stat', 'du', 'df', 'realpath', 'readlink', 'basename', 'dirname'],
  ...['cat', 'tac', 'head', 'tail', 'wc', 'nl', 'cut', 'fold', 'comm', 'cmp', 'grep', 'base64'],
  ...['cksum', 'md5sum', 'sha1sum', 'sha256sum', 'sha512sum'],
]);

/**
 * The facts of a command that is run in the workspace, within these bounds. Any file there may be a script
 * that the command runs, so the digest covers all of them: by inode, size and the time of the last change,
 * which no program can set back. Throws `ToolFailure` for a workspace of more than 20,000 entries.
 */
export async function programApproval(
  { command, bounds }: { readonly command: string; readonly bounds: Bounds },
  { workspace, signal }: ApprovalCall,
): Promise<ApprovalFacts> {
  // The daemon makes it with the first file.
  await mkdir(workspace, { recursive: true, mode: 0o700 });
  const { digest, entries } = await treeDigest(workspace, signal);
  const rule = ruleFor(command, bounds);
  const held = boundsFacts(bounds);
  return {
    digest: { cwd: workspace, files: digest, bounds: held.digest },
    shown: `in the workspace of this conversation, as its ${entries} files are now\n${held.shown}`,
    ...(rule === undefined ? {} : { rule: `${rule}, ${held.shown}` }),
  };
}

/**
 * What a yes for the whole session would allow: commands of the same program that begin with the same word,
 * unless that is an option. Undefined = a yes is for this command alone.
 */
function ruleFor(command: string, { mode, network }: Bounds): string | undefined {
  if (mode === 'none' || network) return undefined;
  const plain = command.replace(/^ +|(?<! ) +$/g, '');
  if (!PLAIN.test(plain)) return undefined;
  const [program = '', first = ''] = plain.split(/ +/);
  if (!READS_ALONE.has(program)) return undefined;
  const prefix = first === '' || first.startsWith('-') ? program : `${program} ${first}`;
  return `commands that begin with "${prefix}", in the workspace of this conversation`;
}

/**
 * Of the names, kinds and last changes of all that is below; nothing is opened, and no link is followed. What
 * goes meanwhile is left out: where that matters, the digest that is made for the run is another one. Throws
 * `ToolFailure` for what cannot be read.
 */
export async function treeDigest(
  root: string,
  signal: AbortSignal,
): Promise<{ readonly digest: string; readonly entries: number }> {
  const lines: string[] = [];
  const waiting = [root];
  for (let dir = waiting.pop(); dir !== undefined; dir = waiting.pop()) {
    for await (const entry of entriesIn(dir, root)) {
      signal.throwIfAborted();
      const path = join(dir, entry.name);
      const found = await lstat(path, { bigint: true }).catch((error: unknown) => passOver(error, relative(root, path)));
      if (!found) continue;
      const { ino, size, mode, ctimeNs } = found;
      lines.push(JSON.stringify([relative(root, path), Number(mode), String(ino), String(size), String(ctimeNs)]));
      if (lines.length > MAX_ENTRIES)
        throw new ToolFailure(
          `the workspace holds more than ${MAX_ENTRIES} files, so what would run cannot be vouched for; remove some`,
        );
      if (entry.isDirectory()) waiting.push(path);
    }
  }
  const hash = createHash('sha256');
  for (const line of lines.sort()) hash.update(`${line}\n`);
  return { digest: hash.digest('hex'), entries: lines.length };
}

async function* entriesIn(dir: string, root: string): AsyncIterable<Dirent> {
  try {
    yield* await opendir(dir);
  } catch (error) {
    if (dir === root) throw error;
    passOver(error, relative(root, dir));
  }
}

/** For what is not there any more; throws for what cannot be read. */
function passOver(error: unknown, path: string): undefined {
  if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined;
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  if (typeof code !== 'string') throw error;
  const shown = JSON.stringify(path.length > PATH_CHARS ? `${path.slice(0, PATH_CHARS)}…` : path);
  const repair = 'the operator has to make it readable, or to remove it';
  throw new ToolFailure(`${shown} in the workspace cannot be read (${code}), so what would run cannot be vouched for; ${repair}`);
}
