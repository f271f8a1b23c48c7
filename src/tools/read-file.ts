import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { PRIVATE, UNTRUSTED } from '../core/authority.ts';
import { IMAGE_HEAD_BYTES, imageTypeOf } from '../media/pictures.ts';
import { openParent, splitWorkspacePath } from '../workspace/path.ts';
import { isStoredOutput } from '../workspace/stored-outputs.ts';
import { MAX_FILE_BYTES } from './change-file.ts';
import { defineTool, ToolFailure } from './define.ts';
import { readPage } from './text-page.ts';

/** Spec C4. */
const OUTPUT_BYTES = 50_000;
/** The rest is for what is said beside the lines. */
const PAGE_BYTES = OUTPUT_BYTES - 500;
/** Of a stored output, which may be one line of any length: a page holds three of these. */
const PIECE_BYTES = 16_384;

const line = z.int().min(1).optional();

export const readFileTool = defineTool({
  name: 'read_file',
  description: 'Read a text file of the workspace, or look at a picture. Lines are numbered as `N│ text`.',
  schema: z.strictObject({
    path: z.string().describe('In the workspace'),
    start_line: line.describe('Counted from 1'),
    end_line: line.describe('Last one'),
  }),
  otherNames: linesOf,
  tags: ['fs'],
  effect: 'none',
  outputBytes: OUTPUT_BYTES,
  // What people sent lies there too, also after the conversation was begun anew.
  reads: UNTRUSTED | PRIVATE,
  async run({ path, start_line: start = 1, end_line: end }, { workspace, signal }) {
    if (end !== undefined && end < start) throw new ToolFailure(`end_line ${end} lies before start_line ${start}`);
    const { parent, name } = await openParent(workspace, path);
    await using _ = parent;
    await using file = await parent.openFile(name);
    const shown = JSON.stringify(path);
    // What a tool put there may be larger than a file of the workspace: it is what has to be paged.
    const isStored = isStoredOutput(splitWorkspacePath(path));
    const maxFileBytes = isStored ? Number.MAX_SAFE_INTEGER : MAX_FILE_BYTES;
    const { size } = await file.stat();
    if (size > maxFileBytes) throw tooLarge(shown);
    if (await isPicture(file)) return { output: `${shown} is a picture (${size} bytes)`, media: [path] };
    const asked = { start, end: end ?? Number.MAX_SAFE_INTEGER, ...(isStored ? { wrapBytes: PIECE_BYTES } : {}) };
    const page = await readPage(file, { ...asked, maxBytes: PAGE_BYTES, maxFileBytes, signal });
    if (page.kind === 'too-large') throw tooLarge(shown);
    if (page.kind === 'binary') throw new ToolFailure(`${shown} is a binary file (${page.bytes} bytes)`);
    const { text, lines, goOn, isUtf8, isWrapped } = page;
    if (lines === 0 && start === 1) return '(empty file)';
    if (start > lines) throw new ToolFailure(`start_line ${start} lies beyond the end: the file has ${lines} lines`);
    const cut = 'are cut into pieces, each with a line number of its own: numbers of grep do not fit';
    const pieces = isWrapped ? `[lines of more than ${PIECE_BYTES} bytes ${cut}]\n` : '';
    const note = `${isUtf8 ? '' : '[not valid UTF-8: some characters are shown as �]\n'}${pieces}`;
    if (goOn === undefined) return note + text;
    const more = goOn > lines ? 'this was the last' : `go on with start_line ${goOn}`;
    return `${note}${text}[cut at ${PAGE_BYTES} bytes; the file has ${lines} lines, ${more}]`;
  },
});

/** `offset` is the first line, counted from 1, `limit` how many lines (spec P38). */
function linesOf(args: unknown): unknown {
  if (typeof args !== 'object' || args === null) return args;
  const { offset, limit, ...rest }: { offset?: unknown; limit?: unknown; start_line?: unknown } = args;
  if ((offset === undefined && limit === undefined) || 'start_line' in rest || 'end_line' in rest) return args;
  const first = offset === undefined || offset === 0 ? 1 : offset;
  if (limit === undefined) return { ...rest, start_line: first };
  // What is no number of lines is refused under the name that the schema has.
  return { ...rest, start_line: first, end_line: Number(first) + Number(limit) - 1 };
}

async function isPicture(file: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(IMAGE_HEAD_BYTES), 0, IMAGE_HEAD_BYTES, 0);
  return imageTypeOf(buffer.subarray(0, bytesRead)) !== undefined;
}

function tooLarge(shown: string): ToolFailure {
  return new ToolFailure(`${shown} is larger than ${MAX_FILE_BYTES / 1024 ** 2} MiB`);
}
