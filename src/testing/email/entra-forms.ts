/**
 * The answers and checks of RFC 6749 and 8628, as the token server of `entra-server.ts` gives them. Never
 * shipped.
 */
import type { IncomingMessage } from 'node:http';

/**
 * An answer that is no success: status and `error` of RFC 6749 5.2, with a number as Microsoft puts first in
 * its words.
 */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(code: string, words: string, status = 400) {
    super(words);
    this.status = status;
    this.code = code;
  }

  toJSON(): Record<string, unknown> {
    return { error: this.code, error_description: this.message, trace_id: '21a7ca08-5c6d-4238-a06f-d7808ff27900' };
  }
}

export const ENTRA_CLIENT = '6731de76-14a6-49ae-97bc-6eba6914391e';
const MAX_FORM_BYTES = 64 * 1024;

/** RFC 6749 3.2: POST, a form, nothing in the address, no parameter twice. */
export async function readForm(request: IncomingMessage, url: URL): Promise<URLSearchParams> {
  if (request.method !== 'POST') throw new Refusal('invalid_request', 'AADSTS900561: only POST is accepted', 405);
  if (!/^application\/x-www-form-urlencoded\b/.test(request.headers['content-type'] ?? '')) {
    throw new Refusal('invalid_request', 'AADSTS900144: the body must be a form');
  }
  if (url.search !== '') throw new Refusal('invalid_request', 'a secret stood in the address');
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > MAX_FORM_BYTES) throw new Refusal('invalid_request', 'the form is too large', 413);
  }
  const form = new URLSearchParams(text);
  for (const name of form.keys()) {
    if (form.getAll(name).length > 1) throw new Refusal('invalid_request', `${name} is given twice`);
  }
  return form;
}

export function required(form: URLSearchParams, name: string): string {
  const value = form.get(name);
  if (value === null || value === '') {
    throw new Refusal('invalid_request', `AADSTS900144: The request body must contain the following parameter: '${name}'.`);
  }
  return value;
}

export const RESOURCE = 'https://outlook.office.com/';
const KNOWN = new Set([
  `${RESOURCE}IMAP.AccessAsUser.All`,
  `${RESOURCE}SMTP.Send`,
  'offline_access',
  'openid',
  'profile',
  'email',
]);

/** Those of one resource, each known. */
export function checkScopes(text: string): readonly string[] {
  const scopes = text.split(' ');
  const wrong = scopes.find((scope) => !KNOWN.has(scope));
  if (wrong !== undefined) throw new Refusal('invalid_scope', `AADSTS70011: The provided value for scope ${wrong} is not valid.`);
  if (!scopes.some((scope) => scope.startsWith(RESOURCE))) throw new Refusal('invalid_scope', 'AADSTS70011: no resource');
  return scopes;
}

/** RFC 8252 7.3: any port of the loopback address; the path must be the registered one. */
export function checkRedirect(text: string): URL {
  const url = new URL(text);
  if (url.protocol !== 'http:' || url.hostname !== '127.0.0.1' || url.pathname !== '/auth/callback') {
    throw new Refusal('invalid_request', 'AADSTS50011: The redirect URI does not match those of the application.');
  }
  return url;
}
