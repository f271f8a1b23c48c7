// A PDF or a docx on stdin, {firstPage, lastPage, maxChars} as argument -> what it says, as JSON, on stdout
//
// A program of its own, as read-page.ts: documents are written by strangers, and what a parser does with one
// must cost no more than this process. Its packages are loaded for the kind of document that came.
import { buffer } from 'node:stream/consumers';

interface Request {
  readonly firstPage: number;
  readonly lastPage?: number;
  readonly maxChars: number;
}

/** A PDF may begin with other bytes (ISO 32000-1, implementation note 13). */
const PDF_WITHIN = 1024;
/** Of the old binary formats of Office, and of those of today once they have a password. */
const COMPOUND_FILE = Buffer.from('d0cf11e0a1b11ae1', 'hex');
const ZIP = Buffer.from('504b0304', 'hex');
/** Pages are joined by it; it says which comes. */
const pageLine = (number: number): string => `--- page ${number} ---`;

/** What is wrong with the document, for the model. */
class Refused extends Error {}

const request = JSON.parse(process.argv[2] ?? '') as Request;
process.stdout.write(JSON.stringify(await answer(await buffer(process.stdin))));

async function answer(file: Buffer): Promise<object> {
  try {
    return { kind: 'read', ...(await read(file)) };
  } catch (error) {
    return { kind: 'failed', reason: error instanceof Refused ? error.message : 'the document is damaged and cannot be read' };
  }
}

async function read(file: Buffer): Promise<object> {
  if (file.subarray(0, PDF_WITHIN).includes('%PDF-')) return await readPdf(file);
  if (file.subarray(0, ZIP.length).equals(ZIP)) return await readDocx(file);
  if (file.subarray(0, COMPOUND_FILE.length).equals(COMPOUND_FILE))
    throw new Refused('it is a document of an old format (.doc) or has a password; ask for a PDF or a .docx without one');
  throw new Refused('it is neither a PDF nor a docx; read_file reads text');
}

async function readPdf(file: Buffer): Promise<object> {
  const { getDocumentProxy } = await import('unpdf');
  // A copy: the package takes the bytes away from whom they belong to.
  const pdf = await getDocumentProxy(new Uint8Array(file)).catch((error: unknown) => {
    if (error instanceof Error && error.name === 'PasswordException')
      throw new Refused('it has a password; ask for a copy without');
    throw error;
  });
  const { numPages: pages } = pdf;
  const { firstPage, maxChars } = request;
  if (firstPage > pages) throw new Refused(`first_page ${firstPage} lies beyond the end: it has ${pages} pages`);
  const last = Math.min(request.lastPage ?? pages, pages);
  const shown: string[] = [];
  let chars = 0;
  let number = firstPage;
  for (; number <= last && chars < maxChars; number += 1) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    page.cleanup();
    const text = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('');
    shown.push(pageLine(number), text.trim() === '' ? '(no text on this page; it may be a picture)' : text.trim(), '');
    chars += text.length;
  }
  const all = shown.join('\n').trim();
  const { info } = (await pdf.getMetadata().catch(() => ({ info: {} }))) as { info: { Title?: unknown } };
  const title = typeof info.Title === 'string' ? info.Title : '';
  // Of one page that alone is too long, the rest is not to be had.
  const text = all.slice(0, maxChars * 2).toWellFormed();
  const isComplete = number > last && text.length === all.length;
  return { type: 'pdf', text, title: title.slice(0, 300), pages, isComplete, ...(number > last ? {} : { goOn: number }) };
}

async function readDocx(file: Buffer): Promise<object> {
  const { default: mammoth } = await import('mammoth');
  const { cut, markdownOf, parsePage } = await import('./html-markdown.ts');
  const { value } = await mammoth
    .convertToHtml({ buffer: file }, {
      convertImage: mammoth.images.imgElement(() => Promise.resolve({ src: 'picture' })),
      // Never what a link outside of the file leads to.
      externalFileAccess: false,
    } as Parameters<typeof mammoth.convertToHtml>[1])
    .catch(() => {
      throw new Refused('it is a zip file, but no docx that can be read; read_document reads PDF and docx');
    });
  const whole = markdownOf(parsePage(`<html><body>${value}</body></html>`).body, request.maxChars + 1);
  const text = whole.length > request.maxChars ? cut(whole, request.maxChars) : whole;
  return { type: 'docx', text, title: '', isComplete: text.length === whole.length };
}
