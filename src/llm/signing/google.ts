/** Access tokens of a service account: https://developers.google.com/identity/protocols/oauth2/service-account#httprest */
import { createSign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createFailure } from '../failure.ts';
import { WireFault } from '../protocols/wire-guard.ts';
import type { Signer } from './signer.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const LIFETIME_S = 3_600;
/** A token is renewed this long before it ends. ms. */
const MARGIN_MS = 60_000;
const REQUEST_LIMIT_MS = 15_000;
const HINT = 'check GOOGLE_APPLICATION_CREDENTIALS: it names the JSON key file of a service account that may use Vertex AI';

/** Exchanges a signed statement of the account in the key file for a token, and keeps it until it ends. */
export function googleSigner(keyFile: string, fetchFn: typeof fetch = fetch): Signer {
  let token: { readonly value: string; readonly until: number } | undefined;
  let renewing: Promise<void> | undefined;
  return async ({ now, signal }) => {
    if (!token || token.until <= now) {
      renewing ??= renew(keyFile, now, fetchFn)
        .then((fresh) => {
          token = fresh;
        })
        .finally(() => {
          renewing = undefined;
        });
      await renewing;
      signal?.throwIfAborted();
    }
    return { authorization: `Bearer ${token?.value}` };
  };
}

async function renew(keyFile: string, now: number, fetchFn: typeof fetch) {
  const account = await readAccount(keyFile);
  const iat = Math.floor(now / 1_000);
  const claims = { iss: account.client_email, scope: SCOPE, aud: account.token_uri, iat, exp: iat + LIFETIME_S };
  const statement = [{ alg: 'RS256', typ: 'JWT', kid: account.private_key_id }, claims].map(base64url).join('.');
  let assertion: string;
  try {
    assertion = `${statement}.${createSign('RSA-SHA256').update(statement).sign(account.private_key, 'base64url')}`;
  } catch {
    // No cause: it may quote the key.
    throw fault('the private key in the key file cannot be used');
  }
  const body = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
  const limit = AbortSignal.timeout(REQUEST_LIMIT_MS);
  const response = await fetchFn(account.token_uri, { method: 'POST', body, redirect: 'error', signal: limit }).catch(() => {
    throw new WireFault(
      createFailure('network', { message: `the token server at ${new URL(account.token_uri).host} cannot be reached` }),
    );
  });
  const answer = (await response.json().catch(() => ({}))) as { access_token?: unknown; expires_in?: unknown };
  const { access_token: value, expires_in: seconds } = answer;
  if (typeof value === 'string' && value !== '')
    return { value, until: now + (Number(seconds) || LIFETIME_S) * 1_000 - MARGIN_MS };
  if (response.status < 500) throw fault(`the token server refused the service account (status ${response.status})`);
  throw new WireFault(createFailure('overloaded', { message: `the token server answered with status ${response.status}` }));
}

interface Account {
  readonly client_email: string;
  readonly private_key: string;
  readonly private_key_id?: string;
  readonly token_uri: string;
}

async function readAccount(keyFile: string): Promise<Account> {
  let account: Partial<Account> & { type?: string };
  try {
    account = JSON.parse(await readFile(keyFile, 'utf8')) as typeof account;
  } catch {
    throw fault('the key file of the service account cannot be read');
  }
  const { client_email, private_key, token_uri = 'https://oauth2.googleapis.com/token' } = account;
  if (account.type !== 'service_account' || !client_email || !private_key)
    throw fault('the key file is not that of a service account');
  const url = URL.parse(token_uri);
  if (!url || (url.protocol !== 'https:' && url.hostname !== '127.0.0.1'))
    throw fault('the token_uri of the key file is not an https address');
  return { ...account, client_email, private_key, token_uri };
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function fault(message: string): WireFault {
  return new WireFault(createFailure('auth', { message, hint: HINT }));
}
