import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { openParent, splitWorkspacePath } from '../workspace/path.ts';
import { attachmentName } from './attachment-name.ts';
import { defineTool } from './define.ts';

export const sendFileTool = defineTool({
  name: 'send_file',
  description: 'Send a file of the workspace to the chat, together with the answer of this turn.',
  schema: z.strictObject({
    file_path: z.string().describe('Path relative to the workspace'),
    caption: z.string().optional().describe('Text to show with the file'),
  }),
  tags: ['message'],
  readOnly: true,
  async run({ file_path: path, caption }, context) {
    const { parent, name } = await openParent(context.workspace, path);
    await using _ = parent;
    await using file = await parent.openFile(name);
    context.signal.throwIfAborted();
    const sent = await context.attach({
      path: openPath(file, parent.self, join(context.workspace, ...splitWorkspacePath(path))),
      name: attachmentName(name),
      ...(caption === undefined ? {} : { caption }),
    });
    return `Attached ${sent.name} (${sent.bytes} bytes) to the answer`;
  },
});

/** The very file that was checked, while it is open: nobody can swap it before it is copied (A21). */
function openPath(file: FileHandle, directory: string, plain: string): string {
  return directory.startsWith('/proc/self/fd/') ? `/proc/self/fd/${file.fd}` : plain;
}
