/** Where the header of a mail ends, by its bytes. Pure. */

/** A hop adds about ten fields; mailing lists and ARC chains stay below 150. */
const MAX_HEADER_FIELDS = 500;
const MAX_HEADER_BYTES = 64 * 1024;

/** RFC 5322 section 2.2: printable ASCII without the colon. Some programs write a blank before the colon. */
const FIELD = /^([!-9;-~]{1,200})[ \t]{0,20}:/;
const MAIL_FIELD =
  /^(?:from|to|cc|bcc|subject|date|sender|reply-to|message-id|in-reply-to|references|received|return-path|mime-version|content-[a-z-]+|authentication-results|dkim-signature|delivered-to|user-agent|arc-[a-z-]+|list-[a-z-]+|resent-[a-z-]+|x-[a-z0-9-]+)$/;

/**
 * Where the blank line begins; a field starts at a line that does not begin with white space. Throws past
 * the bounds, and on what RFC 5322 forbids and readers understand differently: NUL, which ends a text for
 * some, and a bare CR, which ends a line for some.
 */
export function headerEnd(raw: Uint8Array): number {
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

/**
 * The mail with a blank line between its header and words that stand right below it: they would be taken for
 * fields, and lost. Not where a field of mail that was not there yet comes below them: then it is the header
 * that has a broken line.
 */
export function withBlankLine(raw: Uint8Array): Uint8Array {
  const lines = Buffer.from(raw.subarray(0, headerEnd(raw)))
    .toString('latin1')
    .split('\n');
  const lastNew = lastNewField(lines);
  const words = lines.findIndex((line, index) => {
    if (line.trim() === '' || (index > 0 && /^[ \t]/.test(line))) return false;
    return index > lastNew && fieldName(line) === undefined;
  });
  if (words < 0) return raw;
  const offset = lines.slice(0, words).reduce((sum, line) => sum + line.length + 1, 0);
  return Buffer.concat([raw.subarray(0, offset), Buffer.from('\r\n'), raw.subarray(offset)]);
}

function fieldName(line: string): string | undefined {
  return FIELD.exec(line)?.[1]?.toLowerCase();
}

/** The last line that has a field of mail which none above it has; -1 where there is none. */
function lastNewField(lines: readonly string[]): number {
  const seen = new Set<string>();
  let last = -1;
  for (const [index, line] of lines.entries()) {
    const name = fieldName(line);
    if (name === undefined || seen.has(name)) continue;
    seen.add(name);
    if (MAIL_FIELD.test(name)) last = index;
  }
  return last;
}
