import { isUtf8 } from 'node:buffer';
import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { PRIVATE, UNTRUSTED } from '../core/authority.ts';
import { imageTypeOf } from '../media/pictures.ts';
import { openParent } from '../workspace/path.ts';
import { defineTool, ToolFailure } from './define.ts';

/** Spec G1. */
const MAX_FILE_BYTES = 10 * 1024 * 1024;
const MAX_OUTPUT_CHARS = 100_000;

const line = z.int().min(1).optional();

export const readFileTool = defineTool({
  name: 'read_file',
  description:
    'Read a text file of the workspace, or look at a picture. Lines come numbered as `N│ text`. Ask for a range when the file is long.',
  schema: z.strictObject({
    path: z.string().describe('Path relative to the workspace'),
    start_line: line.describe('First line to read, counted from 1. Default: the first'),
    end_line: line.describe('Last line to read, inclusive. Default: the last'),
  }),
  tags: ['fs'],
  effect: 'none',
  // What people sent lies there too, also after the conversation was begun anew.
  reads: UNTRUSTED | PRIVATE,
  async run({ path, start_line: start = 1, end_line: end }, context) {
    if (end !== undefined && end < start) throw new ToolFailure(`end_line ${end} lies before start_line ${start}`);
    const { parent, name } = await openParent(context.workspace, path);
    await using _ = parent;
    await using file = await parent.openFile(name);
    const bytes = await readBounded(file, path, context.signal);
    if (imageTypeOf(bytes)) return { output: `${JSON.stringify(path)} is a picture (${bytes.length} bytes)`, media: [path] };
    if (bytes.includes(0)) throw new ToolFailure(`${JSON.stringify(path)} is a binary file (${bytes.length} bytes)`);
    const note = isUtf8(bytes) ? '' : '[not valid UTF-8: some characters are shown as �]\n';
    return note + numbered(bytes.toString('utf8'), start, end);
  },
});

/** Counts while it reads: a file can grow after its size was looked at. */
async function readBounded(file: FileHandle, path: string, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead, buffer } = await file.read(Buffer.alloc(256 * 1024));
    if (bytesRead === 0) return Buffer.concat(chunks);
    total += bytesRead;
    if (total > MAX_FILE_BYTES) throw new ToolFailure(`${JSON.stringify(path)} is larger than 10 MiB`);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

function numbered(text: string, start: number, end: number | undefined): string {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  if (lines.length === 0 && start === 1) return '(empty file)';
  if (start > lines.length) throw new ToolFailure(`start_line ${start} lies beyond the end: the file has ${lines.length} lines`);
  let output = '';
  const last = Math.min(end ?? lines.length, lines.length);
  for (let number = start; number <= last; number += 1) {
    const next = `${number}│ ${lines[number - 1]}\n`;
    if (output.length + next.length > MAX_OUTPUT_CHARS) {
      const cut = output === '' ? `${next.slice(0, MAX_OUTPUT_CHARS)}\n` : output;
      const goOn = output === '' ? number + 1 : number;
      return `${cut}[cut at ${MAX_OUTPUT_CHARS} characters; the file has ${lines.length} lines, go on with start_line ${goOn}]`;
    }
    output += next;
  }
  return output;
}
