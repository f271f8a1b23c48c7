/** A file at the platform, as a string that only this adapter reads. */

/** The platform encrypts files of each kind with another derivation of their key. */
export type StoredKind = 'image' | 'video' | 'audio' | 'document';

export interface MediaAddress {
  readonly kind: StoredKind;
  readonly key: Uint8Array;
  /** Below the media host. Without it, `url` names host and path; the host is checked before any fetch. */
  readonly path?: string;
  readonly url?: string;
  /** SHA-256 of the encrypted file. */
  readonly hash?: Uint8Array;
}

export function toRef({ kind, key, path, url, hash }: MediaAddress): string {
  return JSON.stringify({
    kind,
    key: Buffer.from(key).toString('base64'),
    ...(path !== undefined && { path }),
    ...(url !== undefined && { url }),
    ...(hash && { hash: Buffer.from(hash).toString('base64') }),
  });
}

/** Undefined for what `toRef` did not make. */
export function fromRef(ref: string): MediaAddress | undefined {
  let value: Record<string, unknown> | null;
  try {
    value = JSON.parse(ref) as Record<string, unknown> | null;
  } catch {
    return undefined;
  }
  const { kind, key, path, url, hash } = value ?? {};
  if (kind !== 'image' && kind !== 'video' && kind !== 'audio' && kind !== 'document') return undefined;
  if (typeof key !== 'string') return undefined;
  return {
    kind,
    key: Buffer.from(key, 'base64'),
    ...(typeof path === 'string' && { path }),
    ...(typeof url === 'string' && { url }),
    ...(typeof hash === 'string' && { hash: Buffer.from(hash, 'base64') }),
  };
}
