import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { OutboundFile } from '../core/message.ts';
import type { AnswerScope, ToolContext } from '../core/tool.ts';
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
    const copy = await attachFrom(path, context, answer.attach);
    return {
      output: `Attached ${copy.name} (${copy.bytes} bytes) to the answer`,
      files: [{ file: copy, ...(caption === undefined ? {} : { caption }) }],
    };
  },
});

/** Attaches a file of the workspace. Throws as the tool does. */
export async function attachFrom(
  path: string,
  { workspace, signal }: Pick<ToolContext, 'workspace' | 'signal'>,
  attach: AnswerScope['attach'],
): Promise<OutboundFile> {
  const { parent, name } = await openParent(workspace, path);
  await using _ = parent;
  await using file = await parent.openFile(name);
  signal.throwIfAborted();
  const source = openPath(file, parent.self, join(workspace, ...splitWorkspacePath(path)));
  return await attach({ path: source, name: attachmentName(name) }, signal);
}

/** The very file that was checked, while it is open: it cannot be swapped before it is copied (A21). */
function openPath(file: FileHandle, directory: string, plain: string): string {
  return directory.startsWith('/proc/self/fd/') ? `/proc/self/fd/${file.fd}` : plain;
}
