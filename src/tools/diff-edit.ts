import { z } from 'zod';
import { PRIVATE, UNTRUSTED } from '../core/authority.ts';
import { applyHunks } from './apply-hunks.ts';
import { changeTextFile } from './change-file.ts';
import { defineBoundTool } from './define.ts';
import { parseUnifiedDiff } from './unified-diff.ts';

export const diffEdit = defineBoundTool({
  name: 'diff_edit',
  description: 'Change one text file of the workspace by a unified diff. All hunks are applied, or none.',
  schema: z.strictObject({
    path: z.string().describe('Path relative to the workspace'),
    diff: z.string().describe('Hunks that begin with @@ -line,count +line,count @@, with lines of context'),
  }),
  tags: ['fs'],
  // Not idempotent: lines that a hunk adds may fit a second time.
  effect: 'workspace',
  // A failure names lines of the file.
  reads: UNTRUSTED | PRIVATE,
  bind: ({ claimDisk }) => ({ claimDisk }),
  async run({ path, diff }, context, { claimDisk }) {
    const hunks = parseUnifiedDiff(diff);
    await changeTextFile({ path, context, claimDisk }, (text) => applyHunks(text, hunks));
    return `Applied ${hunks.length} ${hunks.length === 1 ? 'hunk' : 'hunks'} to ${path}`;
  },
});
