import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { openParent, splitWorkspacePath } from '../workspace/path.ts';
import { attachmentName } from './attachment-name.ts';
import { defineBoundTool } from './define.ts';

export const sendFile = defineBoundTool({
  name: 'send_file',
  description: 'Send a file of the workspace to the chat, together with the answer of this turn.',
  schema: z.strictObject({
    file_path: z.string().describe('Path relative to the workspace'),
    caption: z.string().optional().describe('Text to show with the file'),
  }),
  tags: ['message'],
  effect: 'outside',
  act: 'home',
  // Nothing is sent before the answer is committed, and then only the copy that is in the recorded result.
  idempotent: true,
  bind: ({ answer }) => answer,
  async run({ file_path: path, caption }, context, answer) {
    const { parent, name } = await openParent(context.workspace, path);
    await using _ = parent;
    await using file = await parent.openFile(name);
    context.signal.throwIfAborted();
    const source = openPath(file, parent.self, join(context.workspace, ...splitWorkspacePath(path)));
    const copy = await answer.attach({ path: source, name: attachmentName(name) }, context.signal);
    return {
      output: `Attached ${copy.name} (${copy.bytes} bytes) to the answer`,
      files: [{ file: copy, ...(caption === undefined ? {} : { caption }) }],
    };
  },
});

/** The very file that was checked, while it is open: it cannot be swapped before it is copied (A21). */
function openPath(file: FileHandle, directory: string, plain: string): string {
  return directory.startsWith('/proc/self/fd/') ? `/proc/self/fd/${file.fd}` : plain;
}
