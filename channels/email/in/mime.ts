/** The one user of postal-mime. Bounds come before parsing: the bytes are a stranger's. */
import PostalMime, { addressParser, type Email } from 'postal-mime';
import { headerEnd, withBlankLine } from './header-section.ts';

/**
 * The parser takes about 10 µs a line of text. 25 MB of base64 have 330 000 lines: that takes seconds, in
 * which no other work may have to wait.
 */
const MAX_LINES = 400_000;
/** After so many lines everybody else has a turn: a few milliseconds. */
const LINES_A_TURN = 500;
/** A longer one of base64 is read in pieces, each a turn: it may have an end in every four characters. */
const LONGEST_LINE = 16_384;
/**
 * Of a part's content, until they become one: the parser joins what is left, in one turn, at 7 µs a piece.
 */
const MOST_PIECES = 1_000;

export interface MailHeader {
  /** Lower case. */
  readonly name: string;
  /** Unfolded. */
  readonly value: string;
}

export interface MailAddress {
  readonly name: string;
  readonly address: string;
}

export interface MailAttachment {
  /** Place among all attachments, always the same for the same bytes: the part path in a media reference. */
  readonly index: number;
  readonly name?: string;
  readonly mime: string;
  readonly bytes: Uint8Array;
}

/** In a media reference, in the place of an attachment's index: the words of the mail itself. */
export const BODY_INDEX = 'body';

export interface ParsedMail {
  /** In document order, duplicates included: what matters for Authentication-Results. */
  readonly headers: readonly MailHeader[];
  readonly subject: string;
  readonly text?: string;
  readonly html?: string;
  readonly attachments: readonly MailAttachment[];
}

/** The header section, enough to refuse a mail without work on its body. Rejects past the bounds. */
export async function parseHeaders(raw: Uint8Array): Promise<readonly MailHeader[]> {
  const email = await PostalMime.parse(raw.subarray(0, headerEnd(raw)));
  return toHeaders(email);
}

/** Rejects when the mail passes the bounds or its structure cannot be parsed: such a mail is unreadable. */
export async function parseMail(raw: Uint8Array): Promise<ParsedMail> {
  const readable = withBlankLine(raw);
  let lines = 0;
  for (let at = raw.indexOf(0x0a); at >= 0; at = raw.indexOf(0x0a, at + 1)) lines += 1;
  if (lines > MAX_LINES) throw new RangeError(`more than ${MAX_LINES} lines`);
  const parser = new PatientParser({
    maxNestingDepth: 50,
    maxHeadersSize: 256 * 1024,
    // A forwarded mail is a file, not part of what its sender says.
    forceRfc822Attachments: true,
    attachmentEncoding: 'arraybuffer',
  });
  const email = await parser.parse(readable);
  return {
    headers: toHeaders(email),
    subject: email.subject ?? '',
    ...(email.text === undefined ? {} : { text: email.text }),
    ...(email.html === undefined ? {} : { html: email.html }),
    attachments: email.attachments.map(toAttachment),
  };
}

/** A part, as the parser keeps it. */
interface MimePart {
  readonly contentType: {
    readonly parsed: { value: string; readonly params: { readonly name?: string } };
    multipart: string | false;
  };
  readonly contentDisposition: { readonly parsed: { readonly value: string; readonly params: { readonly filename?: string } } };
  readonly childNodes: readonly unknown[];
}

/** What the content of a part that is read is kept in. */
type Piece = string | Uint8Array | ArrayBuffer;

interface OpenPart {
  /** That of base64 has a `remainder`: characters that are not four yet. */
  readonly contentDecoder: { readonly chunks: Piece[]; readonly remainder?: string } | null;
}

type LineReader = (this: PostalMime, line: Uint8Array, isFinal: boolean) => Promise<void>;
type Collector = (this: PostalMime, part: MimePart, ...rest: readonly unknown[]) => Promise<void>;
const { processLine, collectNode } = PostalMime.prototype as unknown as {
  readonly processLine: LineReader;
  readonly collectNode: Collector;
};

/**
 * The parser awaits each line, but never anything outside the process: all of a mail would be one turn of the
 * event loop. Its methods are not in its types; should they go, tests fail: on other work during a long mail,
 * and on types of content that are none.
 */
class PatientParser extends PostalMime {
  #lines = 0;
  /** The pieces of the part that is read, the first `joined` of which are many in one. */
  #content: { readonly pieces: Piece[]; joined: number } = { pieces: [], joined: 0 };

  async processLine(line: Uint8Array, isFinal: boolean): Promise<void> {
    let at = 0;
    if (this.#decoder && 'remainder' in this.#decoder)
      for (; line.length - at > LONGEST_LINE; at += LONGEST_LINE) await this.#read(line.subarray(at, at + LONGEST_LINE), false);
    await this.#read(line.subarray(at), isFinal);
  }

  async #read(line: Uint8Array, isFinal: boolean): Promise<void> {
    this.#lines += 1;
    if (this.#lines % LINES_A_TURN === 0 || line.length >= LONGEST_LINE) await new Promise((resolve) => setImmediate(resolve));
    this.#joinPieces();
    await processLine.call(this, line, isFinal);
  }

  /** Of the part that is read. */
  get #decoder(): OpenPart['contentDecoder'] {
    return (this as unknown as { readonly currentNode: OpenPart }).currentNode.contentDecoder;
  }

  #joinPieces(): void {
    const pieces = this.#decoder?.chunks ?? [];
    if (pieces !== this.#content.pieces) this.#content = { pieces, joined: 0 };
    const { joined } = this.#content;
    if (pieces.length - joined < MOST_PIECES) return;
    pieces.push(Buffer.concat(pieces.splice(joined).map(bytesOf)));
    this.#content.joined += 1;
  }

  async collectNode(part: MimePart, ...rest: readonly unknown[]): Promise<void> {
    settleType(part);
    await collectNode.call(this, part, ...rest);
  }
}

function bytesOf(piece: Piece): Uint8Array {
  return typeof piece === 'string' ? Buffer.from(piece) : new Uint8Array(piece);
}

/**
 * A type that is none means text (RFC 2045 section 5.2), and so do parts of which there are none. A part with
 * a file name stays a file.
 */
function settleType({ contentType, contentDisposition, childNodes }: MimePart): void {
  const { parsed, multipart } = contentType;
  if (multipart !== false && childNodes.length === 0) {
    contentType.multipart = false;
    parsed.value = 'text/plain';
  }
  const isFile = contentDisposition.parsed.params.filename !== undefined || parsed.params.name !== undefined;
  if (isFile || /^[^/\s]+\/[^/\s]+$/.test(parsed.value)) return;
  parsed.value = /^(?:text\/?)?html?$/i.test(parsed.value) ? 'text/html' : 'text/plain';
}

/** Every mailbox an address header names; a group gives its members. */
export function parseAddresses(value: string): readonly MailAddress[] {
  return addressParser(value, { flatten: true }).flatMap((entry) =>
    entry.address === undefined ? [] : [{ name: entry.name, address: entry.address }],
  );
}

function toHeaders(email: Email): readonly MailHeader[] {
  return email.headers.map((header) => ({ name: header.key, value: header.value }));
}

function toAttachment(attachment: Email['attachments'][number], index: number): MailAttachment {
  const { content } = attachment;
  const bytes = typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content);
  return {
    index,
    mime: attachment.mimeType,
    bytes,
    ...(attachment.filename ? { name: attachment.filename } : {}),
  };
}
