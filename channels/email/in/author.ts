/** Who wrote a mail. From is read strictly: the server that checked it may read it otherwise (A6). Pure. */

import { MAIL_ADDRESS } from '../settings.ts';
import { type MailHeader, parseAddresses } from './mime.ts';

export interface Author {
  /** Lower case: one person, one id. */
  readonly address: string;
  /** As the sender chose it; may be empty. */
  readonly name: string;
}

/**
 * `Name <address>` or a bare address, once the parts that may hold anything are blank (quoted names,
 * comments, encoded words).
 */
const ONE_ADDRESS = /^(?:[^<>@,;:]*<([^<>]+)>|([^<>,;:]+))$/;
const ENCODED_WORD = /=\?[^?\s]+\?[bq]\?[^?\s]*\?=/gi;

/**
 * Exactly one From with exactly one plain address, which stands there in so many characters. Undefined for
 * every form that two readers could understand differently: a domain with many users vouches for each of
 * them, so the local part must be beyond doubt too.
 */
export function authorOf(headers: readonly MailHeader[]): Author | undefined {
  const fields = headers.filter((header) => header.name === 'from');
  const [field] = fields;
  if (fields.length !== 1 || !field) return undefined;
  const match = ONE_ADDRESS.exec(withoutFreeText(field.value)?.trim() ?? '');
  const address = (match?.[1] ?? match?.[2])?.trim();
  // Its compatibility form must be the same: `Kelvin sign`ate is `kate` in lower case, and a full-width `@`
  // is one to some readers.
  if (address === undefined || !MAIL_ADDRESS.test(address) || address.normalize('NFKC') !== address) return undefined;
  const parsed = parseAddresses(field.value);
  const [only] = parsed;
  if (parsed.length !== 1 || only?.address !== address) return undefined;
  return { address: address.toLowerCase(), name: only.name };
}

/** Quoted strings, nested comments and encoded words become one blank each; undefined if one does not end. */
function withoutFreeText(value: string): string | undefined {
  let text = '';
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < value.length; at += 1) {
    const char = value.charAt(at);
    if (char === '\\' && (quoted || depth > 0)) at += 1;
    else if (char === '"' && depth === 0) {
      quoted = !quoted;
      text += ' ';
    } else if (quoted) continue;
    else if (char === '(') depth += 1;
    else if (char === ')') {
      depth -= 1;
      if (depth < 0) return undefined;
      text += ' ';
    } else if (depth === 0) text += char;
  }
  return quoted || depth > 0 ? undefined : text.replace(ENCODED_WORD, ' ');
}
