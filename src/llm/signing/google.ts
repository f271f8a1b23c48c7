/** Service accounts: https://developers.google.com/identity/protocols/oauth2/service-account#httprest */
import { createSign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FailureKind } from '../../core/model.ts';
import { createFailure } from '../failure.ts';
import { type Signer, WireFault } from '../protocols/wire-guard.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const LIFETIME_S = 3_600;
/** A token is renewed this long before it ends. ms. */
const MARGIN_MS = 60_000;
const REQUEST_LIMIT_MS = 15_000;
const HINT = 'check GOOGLE_APPLICATION_CREDENTIALS: it names the JSON key file of a service account that may use Vertex AI';

interface Token {
  readonly value: string;
  /** Epoch ms. */
  readonly until: number;
}

/** Exchanges a statement signed with the key file for a token, and keeps it until it is about to end. */
export function googleSigner(keyFile: string): Signer {
  let current: Promise<Token> | undefined;
  return async ({ now }) => {
    const before = current;
    let token = await before?.catch(() => undefined);
    if (!token || token.until <= now) {
      // The first of those that waited renews it for all.
      current = !current || current === before ? renew(keyFile, now) : current;
      token = await current;
    }
    return { authorization: `Bearer ${token.value}` };
  };
}

async function renew(keyFile: string, now: number): Promise<Token> {
  const { tokenUri, assertion } = await signedStatement(keyFile, Math.floor(now / 1_000));
  const body = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
  const signal = AbortSignal.timeout(REQUEST_LIMIT_MS);
  const response = await fetch(tokenUri, { method: 'POST', body, redirect: 'error', signal }).catch(() => undefined);
  if (!response) throw fault(`the token server at ${new URL(tokenUri).host} cannot be reached`, 'network');
  const answer = (await response.json().catch(() => ({}))) as { access_token?: unknown; expires_in?: unknown };
  const { access_token: value, expires_in: seconds } = answer;
  if (typeof value === 'string') return { value, until: now + (Number(seconds) || LIFETIME_S) * 1_000 - MARGIN_MS };
  throw fault(`the token server answered with status ${response.status}`, response.status < 500 ? 'auth' : 'overloaded');
}

async function signedStatement(keyFile: string, iat: number): Promise<{ tokenUri: string; assertion: string }> {
  const text = await readFile(keyFile, 'utf8').catch(() => Promise.reject(fault('the key file cannot be read')));
  try {
    const { type, client_email: iss, private_key: key, private_key_id: kid, token_uri: aud } = JSON.parse(text);
    const { protocol, hostname } = new URL(aud);
    if (type !== 'service_account' || (protocol !== 'https:' && hostname !== '127.0.0.1')) throw new Error('unusable');
    const claims = { iss, scope: SCOPE, aud, iat, exp: iat + LIFETIME_S };
    const parts = [{ alg: 'RS256', typ: 'JWT', kid }, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    const signature = createSign('RSA-SHA256').update(parts.join('.')).sign(key, 'base64url');
    return { tokenUri: aud, assertion: [...parts, signature].join('.') };
  } catch {
    // No cause: it may quote the file.
    throw fault('the key file is not one of a service account, or its private key cannot be used');
  }
}

function fault(message: string, kind: FailureKind = 'auth'): WireFault {
  return new WireFault(createFailure(kind, { message, ...(kind === 'auth' ? { hint: HINT } : {}) }));
}
