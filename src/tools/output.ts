/** Spec C4: what a cut keeps from the front; the rest of the room is the end's. */
const HEAD_SHARE = 0.7;

/**
 * At most `maxBytes` of UTF-8: longer text keeps 70 % from its front and 30 % from its end around a mark that
 * says how many bytes are missing. Never cuts a character in two.
 */
export function shapeOutput(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  return headAndTail(bytes, bytes, { bytes: bytes.length, maxBytes, where: (omitted) => `${omitted} bytes omitted` });
}

export interface Omission {
  /** Of the whole, which is larger than `maxBytes`. */
  readonly bytes: number;
  readonly maxBytes: number;
  /** What the mark says of the bytes that are missing. Never longer for a smaller number. */
  readonly where: (omitted: number) => string;
}

/**
 * As `shapeOutput`, of bytes of which only the beginning and the end are there, each at least as long as its
 * share of `maxBytes`.
 */
export function headAndTail(head: Buffer, tail: Buffer, { bytes, maxBytes, where }: Omission): string {
  const mark = (omitted: number) => `\n\n[... ${where(omitted)} ...]\n\n`;
  // The mark's own length depends on its number; the whole length has the most digits.
  const room = Math.max(0, maxBytes - Buffer.byteLength(mark(bytes)));
  const headRoom = Math.floor(room * HEAD_SHARE);
  const headEnd = startOfCharacter(head, headRoom);
  const tailStart = startOfNextCharacter(tail, tail.length - (room - headRoom));
  const omitted = bytes - headEnd - (tail.length - tailStart);
  return head.toString('utf8', 0, headEnd) + mark(omitted) + tail.toString('utf8', tailStart);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function startOfCharacter(bytes: Buffer, at: number): number {
  let index = at;
  while (index > 0 && isContinuation(bytes[index])) index -= 1;
  return index;
}

function startOfNextCharacter(bytes: Buffer, at: number): number {
  let index = at;
  while (index < bytes.length && isContinuation(bytes[index])) index += 1;
  return index;
}

const CREDENTIAL = '[credential-redacted]';
const ASSIGNED = '(?:password|secret|api[_-]?key|access[_-]?token|auth[_-]?token|private[_-]?key)';
/** A closing quote may be missing: the output was cut there. JSON within JSON has its quotes escaped. */
const VALUE = String.raw`(?:\\{1,4}"[^"\\\n]{8,}(?:\\{1,4}")?|"[^"\n]{8,}"?|'[^'\n]{8,}'?|[^\s"']{8,})`;

/**
 * Spec G6, in this order: the longer wrappers first, so that a key inside a data URI is not half shown. Each
 * pattern is linear: no repetition can match the same text in two ways (A45).
 */
const RULES: readonly (readonly [pattern: RegExp, replace: (found: string) => string])[] = [
  [/data:(?:[\w.+-]+\/[\w.+-]+)?(?:;[\w.+-]+=[\w.+-]*)*;base64,[A-Za-z0-9+/_-]{64,}={0,2}/gi, () => '[base64-data-redacted]'],
  [/[0-9A-Fa-f]{64,}/g, () => '[hex-redacted]'],
  [/sk-ant-[\w-]{20,}/g, keepFour],
  // Not inside a word: "task-force-management-system" is no key.
  [/(?<![A-Za-z0-9])sk-[\w-]{20,}/g, keepFour],
  [/AKIA[0-9A-Z]{16}/g, keepFour],
  [/(?:gh[posr]_|github_pat_)\w{20,}/g, keepFour],
  [/glpat-[\w-]{20,}/g, keepFour],
  [/Bearer[ \t]+[\w.~+/-]{20,}=*/gi, keepFour],
  [new RegExp(`${ASSIGNED}(?:\\\\{0,4}["'])?[ \\t]*[:=][ \\t]*${VALUE}`, 'gi'), keepFour],
];

function keepFour(found: string): string {
  return found.slice(0, 4) + CREDENTIAL;
}

/**
 * Takes encoded blobs and credentials out of a tool's result before a model, a log or a session file sees
 * them.
 */
export function sanitize(text: string): string {
  return RULES.reduce((clean, [pattern, replace]) => clean.replace(pattern, replace), text);
}
