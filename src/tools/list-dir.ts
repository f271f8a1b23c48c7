import { readdir } from 'node:fs/promises';
import { z } from 'zod';
import { PRIVATE, UNTRUSTED } from '../core/authority.ts';
import { splitWorkspacePath, WorkspaceDirectory } from '../workspace/path.ts';
import { defineTool } from './define.ts';
import { printableName } from './printable-name.ts';

/** What is more is counted only: a listing is for finding one's way, and the output is cut anyway. */
const MAX_ENTRIES = 2_000;

export const listDirTool = defineTool({
  name: 'list_dir',
  description: 'List a directory of the workspace: one entry a line, marked [dir] or [file].',
  schema: z.strictObject({ path: z.string().default('.').describe('In the workspace') }),
  tags: ['fs'],
  effect: 'none',
  // As read_file: people and programs outside chose the names, and one may hold what a run has read.
  reads: UNTRUSTED | PRIVATE,
  async run({ path }, context) {
    await using directory = await WorkspaceDirectory.open(context.workspace, splitWorkspacePath(path));
    const entries = await readdir(directory.self, { withFileTypes: true });
    if (entries.length === 0) return '(empty directory)';
    const names = entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    const lines = names.slice(0, MAX_ENTRIES).map((entry) => {
      const link = entry.isSymbolicLink() ? ' (symbolic link, not followed)' : '';
      return `${entry.isDirectory() ? '[dir]' : '[file]'} ${printableName(entry.name)}${link}`;
    });
    if (names.length > MAX_ENTRIES) lines.push(`[${names.length - MAX_ENTRIES} more entries not shown]`);
    return lines.join('\n');
  },
});
