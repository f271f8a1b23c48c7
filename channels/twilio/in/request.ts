/** Proof that a request comes from Twilio (https://www.twilio.com/docs/usage/security). Pure. */
import { createHash, createHmac } from 'node:crypto';
import type { WebhookRequest } from '../../../src/core/channel.ts';
import { equalSecrets } from '../../../src/lib/equal-secrets.ts';

/** Field name -> value; of a repeated field the first. */
export type Fields = ReadonlyMap<string, string>;

export type Verdict =
  | { readonly kind: 'genuine'; readonly fields: Fields }
  /** Signed, but the fields can be cut in several ways (`isAmbiguous`): only the list tells what is meant. */
  | { readonly kind: 'ambiguous' }
  | { readonly kind: 'refused'; readonly why: string };

export interface Proof {
  /** As entered at Twilio, without a query; a fragment (connection overrides) may follow. */
  readonly publicUrl: string;
  readonly authToken: string;
}

/** An inbound message has about 40 fields and 10 files; signing sorts them all. */
const MAX_FIELDS = 500;
/** As Twilio names its fields: MessageSid, MediaUrl0. */
const FIELD_NAME = /^[A-Z][A-Za-z0-9_]{0,63}$/;

/**
 * Checks the signature before anything of the body is believed. Fails closed: without the header, without a
 * token, or for a content type that the signature would not cover, the answer is `refused`.
 */
export function verify(request: WebhookRequest, { publicUrl, authToken }: Proof): Verdict {
  const given = request.headers['x-twilio-signature'];
  if (given === undefined || given === '') return refused('no signature');
  if (authToken === '') return refused('no auth token to check with');
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  const queryAt = request.target.indexOf('?');
  const query = queryAt < 0 ? '' : request.target.slice(queryAt);
  if (type === 'application/x-www-form-urlencoded') {
    const form = new URLSearchParams(request.body.toString('utf8'));
    if (form.size > MAX_FIELDS) return refused('too many fields');
    const pairs = signedPairs(form);
    if (!signedOver({ publicUrl, query, fields: joined(pairs) }, { authToken, given })) return refused('wrong signature');
    return isAmbiguous(pairs) ? { kind: 'ambiguous' } : { kind: 'genuine', fields: firstOfEach(form) };
  }
  if (type !== 'application/json') return refused('unknown content type');
  // A JSON body is not part of what is signed; its hash in the query is.
  if (!signedOver({ publicUrl, query, fields: '' }, { authToken, given })) return refused('wrong signature');
  const hash = request.query.get('bodySHA256') ?? '';
  if (!equalSecrets(hash.toLowerCase(), createHash('sha256').update(request.body).digest('hex')))
    return refused('wrong body hash');
  return jsonFields(request.body);
}

function refused(why: string): Verdict {
  return { kind: 'refused', why };
}

/** What the platform signs. */
interface Signed {
  readonly publicUrl: string;
  /** With its question mark; '' without one. */
  readonly query: string;
  /** Names and values of the form in a row; '' for any other body. */
  readonly fields: string;
}

function signedOver({ publicUrl, query, fields }: Signed, by: { readonly authToken: string; readonly given: string }): boolean {
  let genuine = false;
  // All of them, so that the time tells nothing about which one fits.
  for (const url of addresses(publicUrl, query)) {
    const expected = createHmac('sha1', by.authToken).update(`${url}${fields}`, 'utf8').digest('base64');
    genuine = equalSecrets(by.given, expected) || genuine;
  }
  return genuine;
}

/**
 * The address with and without the scheme's own port: Twilio's back ends differ in that, as the official
 * libraries know. The fragment of connection overrides stays at the platform and is not part of the request.
 */
function addresses(publicUrl: string, query: string): readonly string[] {
  const [base = '', fragment] = publicUrl.split('#', 2);
  const [, scheme = '', host = '', port, rest = ''] = /^(https?:\/\/)(\[[^\]]*\]|[^/:]*)(:\d+)?(.*)$/i.exec(base) ?? [];
  const standard = scheme.toLowerCase() === 'https://' ? ':443' : ':80';
  const bases =
    port === undefined || port === standard ? [`${scheme}${host}${rest}`, `${scheme}${host}${standard}${rest}`] : [base];
  return bases.flatMap((url) => [`${url}${query}`, ...(fragment === undefined ? [] : [`${url}${query}#${fragment}`])]);
}

type Pair = readonly [name: string, value: string];

/** What is signed, in its order: that of names. Repeated values count once. */
function signedPairs(form: URLSearchParams): readonly Pair[] {
  return [...new Set(form.keys())]
    .sort()
    .flatMap((name) => [...new Set(form.getAll(name))].sort().map((value): Pair => [name, value]));
}

/** Every name followed by its value; no separators. */
function joined(pairs: readonly Pair[]): string {
  return pairs.map((pair) => pair.join('')).join('');
}

/** Fields whose names begin with that of the sender. */
const SENDER_FIELDS = new Set(['From', 'FromCity', 'FromState', 'FromZip', 'FromCountry']);
/** The sender's name before all a sender can begin with. That is not consumed: it may hold the next name. */
const SENDER = /From(?=[+\w])/g;

/**
 * Names and values are signed without a mark between them: a person who got hold of one signed request could
 * cut it elsewhere, so that words of the text become its sender. Then the true sender is still somewhere in
 * it, after its name; so that name may stand only where a field of ours begins, and only once.
 */
function isAmbiguous(pairs: readonly Pair[]): boolean {
  const fields = joined(pairs);
  const starts = new Set<number>();
  let at = 0;
  for (const [name, value] of pairs) {
    if (!FIELD_NAME.test(name)) return true;
    if (SENDER_FIELDS.has(name)) starts.add(at);
    at += name.length + value.length;
  }
  if (pairs.filter(([name]) => name === 'From').length > 1) return true;
  for (const { index } of fields.matchAll(SENDER)) if (!starts.has(index)) return true;
  const sids = fields.matchAll(/(?:Message|Sms)Sid((?:SM|MM)[0-9a-f]{32})/gi);
  return new Set([...sids].map((match) => match[1]?.toLowerCase())).size > 1;
}

function firstOfEach(form: URLSearchParams): Fields {
  const fields = new Map<string, string>();
  for (const [name, value] of form) if (!fields.has(name)) fields.set(name, value);
  return fields;
}

function jsonFields(body: Buffer): Verdict {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (typeof value !== 'object' || value === null) return refused('no object');
    const fields = new Map<string, string>();
    for (const [name, field] of Object.entries(value)) {
      if (typeof field === 'string' || typeof field === 'number') fields.set(name, String(field));
    }
    return { kind: 'genuine', fields };
  } catch {
    return refused('broken JSON');
  }
}
