/**
 * Whether a request comes from the platform, and what it says.
 * https://open.feishu.cn/document/server-docs/event-subscription-guide/event-subscription-configure-/encrypt-key-encryption-configuration-case
 */
import { createDecipheriv, createHash } from 'node:crypto';
import type { WebhookRequest } from '../../../src/core/channel.ts';
import { equalSecrets } from '../../../src/lib/equal-secrets.ts';
import { obj, parseJson } from '../../kit/json.ts';
import { refusedRequest } from '../../kit/webhook-intake.ts';
import { stringOf } from '../wire/fields.ts';

export interface WebhookKeys {
  readonly encryptKey: string;
  readonly verificationToken: string;
}

type WebhookVerdict =
  /** The address is being set up in the developer console: the value is to be sent back. */
  | { readonly kind: 'challenge'; readonly challenge: string }
  | { readonly kind: 'event'; readonly payload: unknown }
  /**
   * `reason` is for the log. The sender does not learn it: to tell a bad padding from a bad token would give
   * the plain text away.
   */
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * A request that is older is refused. The platform delivers again for 7.1 h, and does not say whether it
 * signs anew each time. A younger one that was there before is recognised by its key, which is kept for
 * longer.
 */
const MAX_AGE_MS = 8 * 3_600_000;
/** Clocks differ. */
const MAX_AHEAD_MS = 5 * 60_000;
/** The one request that comes unsigned is a few words long. */
const MAX_UNSIGNED_BYTES = 4_096;

/** Fails closed. The signature is checked over the raw bytes, before anything is parsed. */
export function readWebhook(request: WebhookRequest, keys: WebhookKeys, now: number): WebhookVerdict {
  const signed = checkSignature(request, keys.encryptKey, now);
  if (signed === 'wrong') return refusedRequest('the signature is wrong');
  if (signed === 'stale') return refusedRequest('the signature is too old');
  if (signed === 'absent' && request.body.length > MAX_UNSIGNED_BYTES) return refusedRequest('the signature is missing');
  // With an Encrypt Key the platform encrypts everything: plain text is somebody else's.
  const encrypted = obj(parseJson(request.body.toString('utf8')))['encrypt'];
  const text = typeof encrypted === 'string' ? decrypt(encrypted, keys.encryptKey) : undefined;
  if (text === undefined) return refusedRequest('the body is not encrypted with the Encrypt Key');
  const payload = obj(parseJson(text));
  const token = stringOf(obj(payload['header'])['token']) || stringOf(payload['token']);
  const known = token !== '' && equalSecrets(token, keys.verificationToken);
  // The platform sets an address up without a signature (seen in practice); the key and the token prove it.
  if (payload['type'] === 'url_verification' && known) return { kind: 'challenge', challenge: stringOf(payload['challenge']) };
  if (signed === 'absent') return refusedRequest('the signature is missing');
  if (!known) return refusedRequest('the verification token is wrong');
  return { kind: 'event', payload };
}

function checkSignature(
  { headers, body }: WebhookRequest,
  encryptKey: string,
  now: number,
): 'right' | 'wrong' | 'stale' | 'absent' {
  const timestamp = headers['x-lark-request-timestamp'] ?? '';
  const nonce = headers['x-lark-request-nonce'] ?? '';
  const signature = headers['x-lark-signature'] ?? '';
  if (timestamp === '' && nonce === '' && signature === '') return 'absent';
  const expected = createHash('sha256').update(`${timestamp}${nonce}${encryptKey}`).update(body).digest('hex');
  if (timestamp === '' || nonce === '' || !equalSecrets(signature, expected)) return 'wrong';
  const at = /^\d{1,15}$/.test(timestamp) ? Number(timestamp) : Number.NaN;
  // Documented in seconds.
  const age = now - (at > 1e11 ? at : at * 1_000);
  return age <= MAX_AGE_MS && age >= -MAX_AHEAD_MS ? 'right' : 'stale';
}

/** AES-256-CBC under SHA-256 of the key; the first 16 bytes are the IV. */
function decrypt(encrypted: string, encryptKey: string): string | undefined {
  const bytes = Buffer.from(encrypted, 'base64');
  if (bytes.length < 32 || bytes.length % 16 !== 0) return undefined;
  try {
    const key = createHash('sha256').update(encryptKey).digest();
    const cipher = createDecipheriv('aes-256-cbc', key, bytes.subarray(0, 16));
    return Buffer.concat([cipher.update(bytes.subarray(16)), cipher.final()]).toString('utf8');
  } catch {
    return undefined; // the padding is wrong: another key
  }
}
