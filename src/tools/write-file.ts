import { z } from 'zod';
import { writeWholeFile } from './change-file.ts';
import { defineBoundTool } from './define.ts';

export const writeFile = defineBoundTool({
  name: 'write_file',
  description: 'Create a text file in the workspace, with missing directories, or replace all of it.',
  schema: z.strictObject({
    path: z.string().describe('In the workspace'),
    content: z.string().describe('All of it'),
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
