/** The one user of postal-mime. Bounds come before parsing: the bytes are a stranger's. */
import PostalMime, { addressParser, type Email } from 'postal-mime';

/** A hop adds about ten fields; mailing lists and ARC chains stay below 150. */
const MAX_HEADER_FIELDS = 500;
const MAX_HEADER_BYTES = 64 * 1024;
/** The parser takes about 10 µs a line of text. 25 MB of base64 have 330 000 lines: seconds, in which nobody else may have to wait. */
const MAX_LINES = 400_000;
/** After so many lines everybody else has a turn: a few milliseconds. */
const LINES_A_TURN = 500;

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
  /** Place among all attachments: the part path in a media reference. The same bytes always give the same order. */
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

/** The header section alone: enough to refuse a mail without spending time on its body. Rejects when it passes the bounds. */
export async function parseHeaders(raw: Uint8Array): Promise<readonly MailHeader[]> {
  const email = await PostalMime.parse(raw.subarray(0, headerEnd(raw)));
  return toHeaders(email);
}

/** Rejects when the mail passes the bounds or its structure cannot be parsed: such a mail is unreadable. */
export async function parseMail(raw: Uint8Array): Promise<ParsedMail> {
  headerEnd(raw);
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
  const email = await parser.parse(raw);
  return {
    headers: toHeaders(email),
    subject: email.subject ?? '',
    ...(email.text === undefined ? {} : { text: email.text }),
    ...(email.html === undefined ? {} : { html: email.html }),
    attachments: email.attachments.map(toAttachment),
  };
}

type LineReader = (this: PostalMime, line: Uint8Array, isFinal: boolean) => Promise<void>;
const { processLine } = PostalMime.prototype as unknown as { readonly processLine: LineReader };

/**
 * The parser awaits each line, but never anything outside the process: all of a mail would be one turn of the event loop. The method is
 * not in its types; should it go, a test on other work during a long mail fails.
 */
class PatientParser extends PostalMime {
  #lines = 0;

  async processLine(line: Uint8Array, isFinal: boolean): Promise<void> {
    this.#lines += 1;
    if (this.#lines % LINES_A_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
    await processLine.call(this, line, isFinal);
  }
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

/**
 * Where the blank line begins; a field starts at a line that does not begin with white space. Throws past the bounds, and on what RFC 5322
 * forbids and readers understand differently: NUL, which ends a text for some, and a bare CR, which ends a line for some.
 */
function headerEnd(raw: Uint8Array): number {
  const end = Math.min(raw.length, MAX_HEADER_BYTES);
  let fields = 0;
  let lineStart = 0;
  for (let at = 0; at < end; at += 1) {
    if (raw[at] === 0 || (raw[at] === 0x0d && at + 1 < raw.length && raw[at + 1] !== 0x0a))
      throw new RangeError('a header field with a control character');
    if (raw[at] !== 0x0a) continue;
    const first = raw[lineStart];
    if (at === lineStart || (at === lineStart + 1 && first === 0x0d)) return lineStart;
    if (first !== 0x20 && first !== 0x09) fields += 1;
    if (fields > MAX_HEADER_FIELDS) throw new RangeError(`more than ${MAX_HEADER_FIELDS} header fields`);
    lineStart = at + 1;
  }
  if (raw.length > MAX_HEADER_BYTES) throw new RangeError(`headers longer than ${MAX_HEADER_BYTES} bytes`);
  return raw.length;
}
