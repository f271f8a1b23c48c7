/** What the sender of a mail newly wrote: without the mail it answers and without signature. Pure. */

/** The line a mail program puts above a quotation; some break it over two lines. */
const ATTRIBUTION =
  /^(on|am|le|el|il|op|em|den|dnia|w dniu)\b.{4,300}\b(wrote|schrieb|écrit|escribió|ha scritto|schreef|escreveu|skrev|napisał\(?a?\)?)\b.{0,200}:$|^.{1,200}<[^<>\s]+@[^<>\s]+>.{0,40}:$/iu;
/** Outlook quotes without marks, below one of these. */
const ORIGINAL =
  /^-{2,}\s*(original message|ursprüngliche nachricht|message d'origine|mensaje original|messaggio originale)\s*-{2,}$/i;
const OUTLOOK_FROM = /^\*?(from|von|de|da|van)\s*:\*?\s+\S/i;
const OUTLOOK_FIELD =
  /^\*?(sent|date|gesendet|datum|envoyé|enviado|fecha|inviato|data|verzonden|to|an|à|para|a|aan|subject|betreff|objet|asunto|oggetto|onderwerp)\s*:/i;
const FORWARD_SUBJECT = /^\s*(fwd?|wg|tr|rv|i|enc)\s*:/i;
const SENT_FROM = /^(sent from my|von meinem .{1,40} gesendet|envoyé de mon|enviado desde mi|get outlook for)\b.{0,60}$/i;
/** A signature should have four lines (RFC 1855); some have more. A `--` further up is text. */
const SIGNATURE_LINES = 12;

/**
 * Quotations are cut only at the end: a mail that answers between the quoted lines keeps them, and so does a forwarded one.
 * Never cuts everything: what would become empty stays as it was.
 */
export function newText(body: string, subject: string): string {
  const all = body.replace(/\r\n?/g, '\n').trimEnd().split('\n');
  let lines = all;
  if (!FORWARD_SUBJECT.test(subject)) lines = withoutOutlookQuote(withoutTrailingQuote(lines));
  lines = withoutSignature(lines);
  const text = lines.join('\n').trim();
  return text === '' ? all.join('\n').trim() : text;
}

function withoutTrailingQuote(lines: readonly string[]): string[] {
  let end = lines.length;
  const signature = lines.findLastIndex((line) => /^--\s?$/.test(line));
  // A quotation may be followed by the signature only: look above it.
  if (signature > 0 && lines.length - signature <= SIGNATURE_LINES && !lines.slice(signature).some(isQuoted)) end = signature;
  let start = end;
  while (start > 0 && (isQuoted(lines[start - 1]) || isBlank(lines[start - 1]))) start -= 1;
  if (!lines.slice(start, end).some(isQuoted)) return [...lines];
  return [...lines.slice(0, attributionStart(lines, start)), ...lines.slice(end)];
}

/** The attribution stands right above the quotation, on one line or broken over two or three. */
function attributionStart(lines: readonly string[], quote: number): number {
  for (let count = 1; count <= 3 && quote - count >= 0; count += 1) {
    const joined = lines
      .slice(quote - count, quote)
      .join(' ')
      .replace(/\s+/g, ' ')
      .trim();
    if (joined.length > 600) break;
    if (ATTRIBUTION.test(joined)) return quote - count;
  }
  return quote;
}

function withoutOutlookQuote(lines: readonly string[]): string[] {
  const cut = lines.findIndex((line, index) => {
    if (ORIGINAL.test(line.trim())) return true;
    if (!OUTLOOK_FROM.test(line)) return false;
    return lines.slice(index + 1, index + 6).filter((next) => OUTLOOK_FIELD.test(next)).length >= 2;
  });
  if (cut < 0) return [...lines];
  const ruled = /^_{10,}$/.test(lines[cut - 1]?.trim() ?? '');
  return lines.slice(0, ruled ? cut - 1 : cut);
}

function withoutSignature(lines: readonly string[]): string[] {
  const at = lines.findLastIndex((line) => /^--\s?$/.test(line));
  let kept = at >= 0 && lines.length - at <= SIGNATURE_LINES ? lines.slice(0, at) : [...lines];
  const last = kept.findLastIndex((line) => !isBlank(line));
  if (last >= 0 && SENT_FROM.test(kept[last]?.trim() ?? '')) kept = kept.slice(0, last);
  return kept;
}

function isQuoted(line: string | undefined): boolean {
  return line?.startsWith('>') ?? false;
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === '';
}
