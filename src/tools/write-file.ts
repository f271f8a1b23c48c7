import { z } from 'zod';
import { writeWholeFile } from './change-file.ts';
import { defineBoundTool } from './define.ts';

/** How the result of `write_file` ends where there was no such file before. */
export const NEW_FILE = ' (new file)';

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
    let isNew = false;
    const onNew = (): void => {
      isNew = true;
    };
    const bytes = await writeWholeFile({ path, context, claimDisk, onNew }, content);
    return `Wrote ${bytes} bytes to ${path}${isNew ? NEW_FILE : ''}`;
  },
});
