// Markdown file and the pictures it shows -> documents -> a docx in the workspace
import { z } from 'zod';
import { PRIVATE, UNTRUSTED } from '../core/authority.ts';
import type { Documents, DocxRequest } from '../core/document.ts';
import type { ClaimDisk } from '../core/ports.ts';
import type { ToolContext } from '../core/tool.ts';
import { imageTypeOf } from '../media/pictures.ts';
import { openParent, PathRefusal } from '../workspace/path.ts';
import { readBounded, writeWholeFile } from './change-file.ts';
import { defineBoundTool, ToolFailure } from './define.ts';

const MAX_MARKDOWN_BYTES = 1024 ** 2;
/** Of all of them; in base64 beside the Markdown they fit into what a program is given. */
const MAX_PICTURE_BYTES = 5 * 1024 ** 2;
const MAX_PICTURES = 50;
/**
 * The address of a picture in Markdown, with and without angle brackets (CommonMark 6.4). Read from the last
 * `![` before it, so that many that begin no picture are not read to the end of the file again and again.
 */
const PICTURE = /!\[(?:[^\]!]|!(?!\[))*\]\(\s*(?:<([^<>\n]+)>|([^\s()<>]+))/g;

interface Args {
  readonly source_path: string;
  readonly target_path?: string | undefined;
}

interface Port {
  readonly documents: Documents;
  readonly claimDisk: ClaimDisk | undefined;
}

export const convertMarkdownToDocx = defineBoundTool({
  name: 'convert_markdown_to_docx',
  description: 'Make a Word (.docx) file of a Markdown file of the workspace, with its tables and pictures.',
  schema: z.strictObject({
    source_path: z.string().describe('The Markdown file, relative to the workspace'),
    target_path: z.string().optional().describe('The new file. Default: the same name with .docx'),
  }),
  tags: ['fs'],
  effect: 'workspace',
  // As read_file: the addresses of pictures that are missing are words of the file.
  reads: UNTRUSTED | PRIVATE,
  bind: ({ documents, claimDisk }) => (documents ? { documents, claimDisk } : undefined),
  run: (args, call, port) => convert(args, call, port),
});

async function convert({ source_path: source, target_path }: Args, call: ToolContext, port: Port): Promise<string> {
  const target = target_path ?? `${source.replace(/\.[^./]*$/, '')}.docx`;
  if (!/\.docx$/i.test(target)) throw new ToolFailure('target_path must end in .docx');
  const markdown = (await bytesOf(source, call, MAX_MARKDOWN_BYTES)).toString('utf8');
  const { pictures, missing } = await picturesIn(markdown, call);
  const made = await port.documents.toDocx({ markdown, pictures, callId: call.callId }, call.signal);
  if (made.kind === 'failed') throw new ToolFailure(made.reason);
  const bytes = await writeWholeFile({ path: target, context: call, claimDisk: port.claimDisk }, made.file);
  const notes = missing.map((reason) => `\n[${reason}: its words are shown instead]`);
  return `Wrote ${bytes} bytes to ${target}${notes.join('')}`;
}

async function bytesOf(path: string, { workspace, signal }: ToolContext, limit: number): Promise<Buffer> {
  const { parent, name } = await openParent(workspace, path);
  await using _ = parent;
  await using file = await parent.openFile(name);
  return await readBounded(file, path, signal, limit);
}

interface Pictures extends Pick<DocxRequest, 'pictures'> {
  /** A reason for each that is not shown. */
  readonly missing: readonly string[];
}

/** Those of the workspace. Paths are relative to it, wherever the Markdown lies. */
async function picturesIn(markdown: string, call: ToolContext): Promise<Pictures> {
  const named = new Set(Array.from(markdown.matchAll(PICTURE), ([, inBrackets, plain]) => inBrackets ?? plain ?? ''));
  const pictures: Record<string, Uint8Array> = {};
  const missing: string[] = [];
  let room = MAX_PICTURE_BYTES;
  for (const address of [...named].slice(0, MAX_PICTURES)) {
    try {
      const bytes = await pictureOf(address, call, room);
      room -= bytes.length;
      pictures[address] = bytes;
    } catch (error) {
      if (!(error instanceof PathRefusal || error instanceof ToolFailure)) throw error;
      missing.push(error.message);
    }
  }
  if (named.size > MAX_PICTURES) missing.push(`only the first ${MAX_PICTURES} pictures are read`);
  return { pictures, missing };
}

async function pictureOf(address: string, call: ToolContext, room: number): Promise<Buffer> {
  const shown = JSON.stringify(address);
  if (/^[a-z][a-z0-9+.-]*:/i.test(address)) throw new ToolFailure(`${shown} is no file of the workspace`);
  const bytes = await bytesOf(pathOf(address), call, room);
  const type = imageTypeOf(bytes);
  if (type === undefined || type === 'image/webp') throw new ToolFailure(`${shown} is no PNG, JPEG or GIF`);
  return bytes;
}

/** An address may have its spaces and umlauts encoded. */
function pathOf(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}
