/** Is the author of a mail who From says? Pure; RFC 8601 (header), RFC 7489 (alignment). */
import type { MailHeader } from './mime.ts';

interface MethodResult {
  readonly method: string;
  readonly result: string;
  readonly properties: ReadonlyMap<string, string>;
}

/**
 * True when our own server (`authservId`) found the From domain genuine. Only the first
 * Authentication-Results field counts: a server puts its own on top, so every one below may have come with
 * the mail (attack A6). DMARC decides where it has a verdict; without one, SPF or DKIM must have passed for
 * the From domain itself or a parent of it.
 */
export function isAuthentic(headers: readonly MailHeader[], authservId: string, fromAddress: string): boolean {
  const top = headers.find((header) => header.name === 'authentication-results');
  if (!top) return false;
  const parsed = parseAuthenticationResults(top.value);
  if (parsed?.authservId !== authservId.toLowerCase()) return false;
  const domain = domainOf(fromAddress);
  const dmarc = parsed.results.filter((entry) => entry.method === 'dmarc' && entry.result !== 'none');
  if (dmarc.length > 0) {
    return dmarc.every((entry) => entry.result === 'pass' && entry.properties.get('header.from') === domain);
  }
  return parsed.results.some((entry) => entry.result === 'pass' && isAligned(entry, domain));
}

export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase();
}

/**
 * Relaxed alignment of RFC 7489 needs the public suffix list. Without it only "equal or a parent" is safe: a
 * parent that signs or publishes SPF is no public suffix in practice, while a child
 * (`attacker.hosting.example`) may belong to another person.
 */
function isAligned(entry: MethodResult, domain: string): boolean {
  const { method, properties } = entry;
  if (method === 'dkim') {
    const signer = properties.get('header.d') ?? properties.get('header.i');
    return vouches(signer, domain);
  }
  return method === 'spf' && vouches(properties.get('smtp.mailfrom'), domain);
}

/**
 * RFC 8601 section 2.2: a domain, or an address. An envelope may hold more, such as a source route
 * (`@a.test:x@b.test`, RFC 5321 appendix C): which of its domains was checked is not known then.
 */
function vouches(identity: string | undefined, domain: string): boolean {
  const [, checked] = /^(?:[^@\s<>(),:;]*@)?([^@\s<>(),:;]+)$/.exec(identity ?? '') ?? [];
  return checked !== undefined && covers(checked, domain);
}

function covers(parent: string, domain: string): boolean {
  return parent === domain || (parent.includes('.') && domain.endsWith(`.${parent}`));
}

/** Undefined when the value does not follow RFC 8601 section 2.2; then nothing in it is believed. */
function parseAuthenticationResults(
  value: string,
): { readonly authservId: string; readonly results: readonly MethodResult[] } | undefined {
  const segments = splitSegments(value);
  const first = segments?.[0];
  const authservId = first?.[0];
  // authserv-id [ version ]: more words mean that this is not the header it claims to be
  if (!segments || !first || authservId === undefined || authservId.includes('=') || first.length > 2) return undefined;
  const results: MethodResult[] = [];
  for (const words of segments.slice(1)) {
    const [head, ...rest] = words;
    const [method, result] = splitPair(head ?? '');
    if (result === undefined) continue; // "none", or a trailing semicolon
    const properties = new Map<string, string>();
    for (const word of rest) {
      const [name, text] = splitPair(word);
      // The first value wins: a second `header.from` would be the mail's own text that leaked in
      if (text !== undefined && !properties.has(name)) properties.set(name, text.toLowerCase());
    }
    results.push({ method: method.split('/')[0] ?? method, result: result.toLowerCase(), properties });
  }
  return { authservId: authservId.toLowerCase(), results };
}

function splitPair(word: string): [name: string, value?: string] {
  const at = word.indexOf('=');
  return at < 0 ? [word.toLowerCase()] : [word.slice(0, at).toLowerCase(), word.slice(at + 1)];
}

/**
 * Words per `;`-separated segment. Comments (nested) vanish; a quoted string is part of its word, so a `;`
 * that a sender wrote into an address stays inside it. Unbalanced quotes or comments give undefined.
 */
function splitSegments(value: string): string[][] | undefined {
  // Runs of white space first: `\s*=` would try each place of a long one (a header section has up to 64 kB).
  const text = value.replace(/\s+/g, ' ').replace(/ ?= ?/g, '=');
  const segments: string[][] = [[]];
  let word = '';
  let depth = 0;
  let quoted = false;
  const endWord = () => {
    if (word !== '') segments.at(-1)?.push(word);
    word = '';
  };
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '\\' && (quoted || depth > 0)) {
      at += 1;
      if (depth === 0) word += text.charAt(at);
    } else if (char === '"' && depth === 0) quoted = !quoted;
    else if (quoted) word += char;
    else if (char === '(') depth += 1;
    else if (char === ')') {
      depth -= 1;
      if (depth < 0) return undefined;
    } else if (depth > 0) continue;
    else if (char === ';') {
      endWord();
      segments.push([]);
    } else if (/\s/.test(char)) endWord();
    else word += char;
  }
  endWord();
  return quoted || depth !== 0 ? undefined : segments;
}
