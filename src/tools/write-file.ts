import { z } from 'zod';
import { writeWholeFile } from './change-file.ts';
import { defineBoundTool } from './define.ts';

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
    const bytes = await writeWholeFile({ path, context, claimDisk }, content);
    return `Wrote ${bytes} bytes to ${path}`;
  },
});
