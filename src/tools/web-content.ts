/** What the bytes of an answer are, and the text in them. */
import { TextDecoder } from 'node:util';
import type { EgressAnswer } from '../core/egress.ts';

type Answer = Pick<EgressAnswer, 'headers' | 'bytes'>;

/** How far the type and the encoding of a page are looked for in it (HTML standard: 1,024 bytes). */
const SNIFFED_BYTES = 1_024;
const HTML = /^(?:text\/html|application\/xhtml\+xml)$/;
const TEXT =
  /^(?:text\/.+|application\/(?:.+\+)?(?:json|xml|yaml|x-yaml|toml|javascript|ecmascript|x-ndjson|ld\+json)|image\/svg\+xml)$/;

/** In small letters, without its parameters. Undefined = the server does not say. */
export function mediaType({ headers }: Pick<Answer, 'headers'>): string | undefined {
  const type = headers.get('content-type')?.split(/[;,]/, 1)[0]?.trim().toLowerCase();
  // It is shown to the model.
  return type !== undefined && /^[\w.+-]{1,60}\/[\w.+-]{1,100}$/.test(type) ? type : undefined;
}

/** By the type that the server names; where it names none, by the first bytes. */
export function kindOf(answer: Answer): 'html' | 'text' | 'other' {
  const type = mediaType(answer);
  const start = answer.bytes.subarray(0, SNIFFED_BYTES);
  if (type === undefined || type === 'application/octet-stream') {
    if (start.includes(0)) return 'other';
    if (/^\s*<(?:!doctype html|html|head|body)\b/i.test(start.toString('latin1'))) return 'html';
    return type === undefined ? 'text' : 'other';
  }
  if (HTML.test(type)) return 'html';
  return TEXT.test(type) ? 'text' : 'other';
}

/** In the encoding that its first bytes, else the server, else the page names; UTF-8 where none is known. */
export function decodeBody(answer: Answer): string {
  const { headers, bytes } = answer;
  const named = /charset\s*=\s*["']?([\w.:-]+)/i;
  const inHeader = named.exec(headers.get('content-type') ?? '')?.[1];
  const start = bytes.subarray(0, SNIFFED_BYTES).toString('latin1');
  const inPage = named.exec(/<meta\b[^>]*charset[^>]*>/i.exec(start)?.[0] ?? '')?.[1];
  const inXml = /^<\?xml[^>]*encoding=["']([\w.:-]+)/i.exec(start)?.[1];
  const label = encodingOfMark(bytes) ?? inHeader ?? inPage ?? inXml ?? 'utf-8';
  return (decoderFor(label) ?? new TextDecoder()).decode(bytes);
}

function encodingOfMark(bytes: Buffer): string | undefined {
  const marks = { 'utf-8': 'efbbbf', 'utf-16be': 'feff', 'utf-16le': 'fffe' };
  const start = bytes.subarray(0, 3).toString('hex');
  return Object.entries(marks).find(([, mark]) => start.startsWith(mark))?.[0];
}

function decoderFor(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined; // no encoding that is known; most of what is written in UTF-8 is read all the same
  }
}
