/** Removes secrets from text that came from outside before it can reach a failure's message (attack A29). */
import { encodedForms } from './redact.ts';

export type Redact = (text: string) => string;

/** Runs of this length shared with a secret are masked: a body that quotes a cut-off key leaks as well. */
const WINDOW = 8;
const MARK = '[redacted]';
/** Keys of any owner: servers echo a key that was sent by mistake, often with stars in its middle. */
const KEY_SHAPES = /\b(?:sk|gsk|pk|nvapi|xai|key)[-_][A-Za-z0-9*._…-]{6,}|\bBearer\s+\S{6,}|\bAIza[\w-]{10,}|\b\w{2,}\*{3,}\w*/g;

/** As long as keys are, with letters and digits: some gateways take theirs in the path. */
const KEY_IN_PATH = /(?=\w*\d)(?=\w*[A-Za-z])\w{16,}|^(?:sk|gsk|pk|xai)-/;

/**
 * What a base URL must not show: its password, the values of its query, what looks like a key in its path.
 */
export function urlSecrets(baseUrl: string): readonly string[] {
  const url = URL.parse(baseUrl);
  if (!url) return [];
  return [url.password, ...url.searchParams.values(), ...url.pathname.split('/').filter((piece) => KEY_IN_PATH.test(piece))];
}

/** A base URL for people's eyes: without its query, its password and what looks like a key in its path. */
export function shownUrl(baseUrl: string): string {
  const url = new URL(baseUrl);
  return createEchoRedactor(urlSecrets(baseUrl))(`${url.origin}${url.pathname}`);
}

/** Masks the given secrets in all their encoded forms, whole or in part. Empty secrets are ignored. */
export function createEchoRedactor(secrets: readonly (string | undefined)[]): Redact {
  const forms = new Set(secrets.flatMap((secret) => (secret ? encodedForms(secret) : [])));
  return (text) => {
    let clean = text;
    for (const form of forms) clean = maskSharedRuns(clean, form);
    return clean.replace(KEY_SHAPES, MARK);
  };
}

function maskSharedRuns(text: string, secret: string): string {
  const size = Math.min(WINDOW, secret.length);
  const masked = new Uint8Array(text.length);
  let found = false;
  for (let start = 0; start + size <= secret.length; start += 1) {
    const part = secret.slice(start, start + size);
    for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + 1)) {
      masked.fill(1, at, at + size);
      found = true;
    }
  }
  if (!found) return text;
  let out = '';
  for (let index = 0; index < text.length; index += 1) {
    if (!masked[index]) out += text[index];
    else if (!masked[index - 1]) out += MARK;
  }
  return out;
}
