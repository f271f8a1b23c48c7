/** Secrets to plant, the spellings in which peers send them back, and the search for leaks (attack A29). */
import { randomBytes } from 'node:crypto';

/** A random secret for each name: with characters that change in URLs and base64, without a known prefix. */
export function plantCanaries<Name extends string>(names: readonly Name[]): Readonly<Record<Name, string>> {
  const secrets = names.map((name) => [name, `c4n${randomBytes(15).toString('hex')}+/=${randomBytes(6).toString('hex')}`]);
  return Object.fromEntries(secrets) as Record<Name, string>;
}

/** How a server that means no harm, or a proxy in front of it, writes down a secret it was sent. */
export function spellings(secret: string): readonly string[] {
  const half = Math.floor(secret.length / 2);
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return [
    secret,
    `Authorization: Bearer ${secret}`,
    // Wrapped lines, and two fields of one object.
    `${secret.slice(0, half)}\n  ${secret.slice(half)}`,
    `{"prefix":"${secret.slice(0, half)}","rest":"${secret.slice(half)}"}`,
    // A base64 text spells a secret in one of three ways, by what stands before it.
    ...['', 'u:', 'user:', 'Bearer '].map((before) => base64(before + secret)),
    Buffer.from(`Bearer ${secret}`).toString('base64url'),
    Buffer.from(secret).toString('hex'),
    Buffer.from(secret).toString('hex').toUpperCase(),
    encodeURIComponent(secret),
    encodeURIComponent(secret).toLowerCase(),
    encodeURIComponent(encodeURIComponent(secret)),
    JSON.stringify(JSON.stringify(secret)),
    secret.replaceAll('/', '\\/'),
    ...[12, 20, secret.length - 4].map((length) => `${secret.slice(0, length)}…`),
  ];
}

/** How a secret may look where it leaked: a piece of it, plain or in the encodings of errors and URLs. */
export function needlesOf(secret: string): readonly string[] {
  const middle = Math.floor(secret.length / 2) - 5;
  const plain = [secret.slice(0, 10), secret.slice(middle, middle + 10), secret.slice(-10)];
  const base64 = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift, 'x'), Buffer.from(secret)]).toString('base64');
    return text.slice(4, 20);
  });
  const hex = Buffer.from(secret).toString('hex').slice(4, 24);
  return [...plain, hex, hex.toUpperCase(), ...base64, ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))];
}

/** The places where a piece of a secret stands, with what is around it. */
export function findCanaries(text: string, secrets: readonly string[]): readonly string[] {
  return secrets.flatMap(needlesOf).flatMap((needle) => {
    const at = text.indexOf(needle);
    return at < 0 ? [] : [text.slice(Math.max(0, at - 200), at + 80)];
  });
}
