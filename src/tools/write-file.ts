import { lstat } from 'node:fs/promises';
import { z } from 'zod';
import { isGatehouseError } from '../core/errors.ts';
import { writeFileAtomic } from '../lib/atomic-file.ts';
import { errorCode, openParent, splitWorkspacePath } from '../workspace/path.ts';
import { defineBoundTool, ToolFailure } from './define.ts';

const MAX_BYTES = 10 * 1024 * 1024;
const NEW_FILE_MODE = 0o600;

export const writeFile = defineBoundTool({
  name: 'write_file',
  description: 'Create a text file in the workspace, or replace its whole content. Missing directories are created.',
  schema: z.strictObject({
    path: z.string().describe('Path relative to the workspace'),
    content: z.string().describe('The whole content of the file'),
  }),
  tags: ['fs'],
  // Not idempotent: a person may have changed the file since.
  effect: 'workspace',
  bind: ({ claimDisk }) => ({ claimDisk }),
  async run({ path, content }, context, { claimDisk }) {
    const bytes = Buffer.byteLength(content, 'utf8');
    if (bytes > MAX_BYTES) throw new ToolFailure(`the content is larger than 10 MiB (${bytes} bytes)`);
    // A22: git runs what lies in there (hooks, core.fsmonitor), also for a mere `git status`.
    if (splitWorkspacePath(path).some(isGitDirectory)) {
      throw new ToolFailure('files in a .git directory cannot be written');
    }
    const { parent, name } = await openParent(context.workspace, path, { create: true });
    await using _ = parent;
    const { mode, size } = await judgeTarget(parent.child(name), path);
    const more = bytes - size;
    using room = more > 0 ? await claimDisk?.(context.workspace, more, context.signal).catch(refuse) : undefined;
    context.signal.throwIfAborted();
    // The rename replaces the name in the directory that is held open, so a link put there meanwhile is
    // replaced, not followed.
    await writeFileAtomic(parent.child(name), content, { mode });
    room?.stored(more);
    return `Wrote ${bytes} bytes to ${path}`;
  },
});

/**
 * Whether some file system takes this name for `.git`, as git itself judges it (`is_ntfs_dotgit` and
 * `is_hfs_dotgit` in path.c and utf8.c): letter case, characters that are not seen, spaces and dots at the
 * end, a stream of NTFS behind a colon, and the short name that FAT gives it. The workspace may be copied to
 * such a file system, or lie on one.
 */
function isGitDirectory(name: string): boolean {
  const seen = name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase();
  const [base = ''] = seen.split(':', 1);
  return /^(?:\.git|git~\d+)[ .]*$/u.test(base);
}

function refuse(error: unknown): never {
  if (isGatehouseError(error) && error.code === 'GH1508') throw new ToolFailure(`${error.message} (GH1508)`);
  throw error;
}

/**
 * Refuses what must not be replaced; else the mode to keep, so that a script stays executable, and its bytes.
 */
async function judgeTarget(target: string, path: string): Promise<{ readonly mode: number; readonly size: number }> {
  const shown = JSON.stringify(path);
  try {
    const info = await lstat(target);
    if (info.isSymbolicLink()) throw new ToolFailure(`${shown} is a symbolic link, which tools do not follow`);
    if (info.isDirectory()) throw new ToolFailure(`${shown} is a directory`);
    if (!info.isFile()) throw new ToolFailure(`${shown} is not a regular file`);
    if (info.nlink > 1) throw new ToolFailure(`${shown} has other names (hard links), which a change would break`);
    return { mode: info.mode & 0o777, size: info.size };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { mode: NEW_FILE_MODE, size: 0 };
    throw error;
  }
}
