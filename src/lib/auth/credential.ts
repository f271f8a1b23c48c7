import { z } from 'zod';
import { keyFlaw, NO_TOKEN } from '../key-form.ts';

/** How the person logged in, in the spelling of the file (spec L1). */
export type AuthMethod = StoredCredential['auth_method'];

/** One provider's login. Holds secrets: never log it, never put it in an error. */
export interface Credential {
  /** `[a-z0-9][a-z0-9._-]*`, at most 64 characters. */
  readonly provider: string;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  /** Epoch ms; absent = does not expire by itself. */
  readonly expiresAt?: number | undefined;
  readonly authMethod: AuthMethod;
  /** Where and by which client it is renewed; both are needed beside a refresh token. */
  readonly issuer?: string | undefined;
  readonly clientId?: string | undefined;
  /** What else a renewal needs, by names of its own. `client_secret` of it is as secret as the tokens. */
  readonly binding?: Readonly<Record<string, string>> | undefined;
}

/** Far above any token; servers take header fields of 8 to 16 kB. */
const MAX_TOKEN_CHARS = 64_000;
/** Sent in an HTTP header: visible ASCII only (RFC 9110 5.5), so that no line break can be smuggled in. */
const TOKEN = z
  .string()
  .max(MAX_TOKEN_CHARS)
  .regex(/^[\x21-\x7e]+$/);
/** ISO 8601 has years of four digits; a login that lasts longer is one that does not expire. Epoch ms. */
const LAST_TIME = Date.UTC(9999, 0, 1);

const CREDENTIAL = z.looseObject({
  access_token: TOKEN,
  refresh_token: TOKEN.optional(),
  expires_at: z.iso.datetime({ offset: true }).optional(),
  provider: z.string(),
  auth_method: z.enum(['oauth', 'device_code', 'paste_token']),
  issuer: z.string().optional(),
  client_id: z.string().optional(),
  binding: z.record(z.string(), z.string()).optional(),
});

/** The file as spec L1 has it. Keys unknown here are kept by every write. */
export const AUTH_FILE = z.looseObject({
  version: z.literal(1).optional(),
  credentials: z.record(z.string(), CREDENTIAL),
});

export type StoredCredential = z.infer<typeof CREDENTIAL>;
export type AuthDocument = z.infer<typeof AUTH_FILE>;

/** Keeps `__proto__` and paths out as well. */
export function isProviderName(name: string): boolean {
  return /^[a-z0-9][a-z0-9._-]{0,63}$/.test(name);
}

export function areTokens({
  accessToken,
  refreshToken = accessToken,
}: Pick<Credential, 'accessToken' | 'refreshToken'>): boolean {
  return [accessToken, refreshToken].every((token) => TOKEN.safeParse(token).success);
}

/** What is wrong with its tokens, as the end of a sentence. A channel's password may look like anything. */
export function flawOf(credential: Credential): string | undefined {
  const isKey = credential.authMethod === 'paste_token' && !credential.provider.startsWith('variable.');
  return (isKey ? keyFlaw(credential.accessToken) : undefined) ?? (areTokens(credential) ? undefined : NO_TOKEN);
}

export function fromStored(provider: string, stored: StoredCredential): Credential {
  return {
    provider,
    accessToken: stored.access_token,
    authMethod: stored.auth_method,
    refreshToken: stored.refresh_token,
    expiresAt: stored.expires_at === undefined ? undefined : Date.parse(stored.expires_at),
    issuer: stored.issuer,
    clientId: stored.client_id,
    binding: stored.binding,
  };
}

export function toStored(credential: Credential): StoredCredential {
  const { provider, accessToken, refreshToken, expiresAt, authMethod, issuer, clientId, binding } = credential;
  return {
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_at: expiresAt === undefined || expiresAt >= LAST_TIME ? undefined : new Date(expiresAt).toISOString(),
    provider,
    auth_method: authMethod,
    issuer,
    client_id: clientId,
    binding,
  };
}
