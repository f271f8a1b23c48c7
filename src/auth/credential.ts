import { z } from 'zod';

/** How a login came to be, in the spelling of the file (spec L1). */
export type AuthMethod = 'oauth' | 'device_code' | 'paste_token';

/** One provider's login. Holds secrets: never log it, never put it in an error. */
export interface Credential {
  /** `[a-z0-9][a-z0-9._-]*`, at most 64 characters. */
  readonly provider: string;
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Epoch ms; absent = does not expire by itself. */
  readonly expiresAt?: number;
  readonly authMethod: AuthMethod;
  /** Where and as whom it is renewed; both are needed beside a refresh token. */
  readonly issuer?: string;
  readonly clientId?: string;
}

/** Goes into an HTTP header: visible ASCII only (RFC 9110 5.5), so no line break can be smuggled in. */
const TOKEN = z.string().regex(/^[\x21-\x7e]+$/);
/** Also keeps `__proto__` and paths out. */
const PROVIDER = /^[a-z0-9][a-z0-9._-]{0,63}$/;

const CREDENTIAL = z.looseObject({
  access_token: TOKEN,
  refresh_token: TOKEN.optional(),
  expires_at: z.iso.datetime({ offset: true }).optional(),
  provider: z.string(),
  auth_method: z.enum(['oauth', 'device_code', 'paste_token']),
  issuer: z.string().optional(),
  client_id: z.string().optional(),
});

/** The file as spec L1 has it. Keys unknown here are kept by every write. */
export const AUTH_FILE = z.looseObject({
  version: z.literal(1).optional(),
  credentials: z.record(z.string(), CREDENTIAL),
});

export type StoredCredential = z.infer<typeof CREDENTIAL>;
export type AuthDocument = z.infer<typeof AUTH_FILE>;

export function isProviderName(name: string): boolean {
  return PROVIDER.test(name);
}

/** Whether a key or token can be sent in a header as it is. */
export function isToken(text: string): boolean {
  return TOKEN.safeParse(text).success;
}

export function fromStored(provider: string, stored: StoredCredential): Credential {
  return {
    provider,
    accessToken: stored.access_token,
    authMethod: stored.auth_method,
    ...(stored.refresh_token === undefined ? {} : { refreshToken: stored.refresh_token }),
    ...(stored.expires_at === undefined ? {} : { expiresAt: Date.parse(stored.expires_at) }),
    ...(stored.issuer === undefined ? {} : { issuer: stored.issuer }),
    ...(stored.client_id === undefined ? {} : { clientId: stored.client_id }),
  };
}

export function toStored(credential: Credential): StoredCredential {
  const { provider, accessToken, refreshToken, expiresAt, authMethod, issuer, clientId } = credential;
  return {
    access_token: accessToken,
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    ...(expiresAt === undefined ? {} : { expires_at: new Date(expiresAt).toISOString() }),
    provider,
    auth_method: authMethod,
    ...(issuer === undefined ? {} : { issuer }),
    ...(clientId === undefined ? {} : { client_id: clientId }),
  };
}
