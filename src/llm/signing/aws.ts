/** AWS Signature Version 4: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
import { createHash, createHmac } from 'node:crypto';
import type { Signer, UnsignedRequest } from './signer.ts';

export interface AwsScope {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly region: string;
  readonly service: string;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** Signs host, content type, time and body of each request. */
export function awsSigner(scope: AwsScope): Signer {
  return async (request) => signAws(request, scope);
}

export function signAws(request: Omit<UnsignedRequest, 'signal'>, scope: AwsScope): Readonly<Record<string, string>> {
  const { accessKeyId, secretAccessKey, sessionToken, region, service } = scope;
  const url = new URL(request.url);
  const time = new Date(request.now).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const type = request.headers.get('content-type');
  const own = { 'x-amz-date': time, ...(sessionToken ? { 'x-amz-security-token': sessionToken } : {}) };
  const signed = Object.entries({ ...(type === null ? {} : { 'content-type': type }), host: url.host, ...own }).sort(byName);
  const names = signed.map(([name]) => name).join(';');
  const canonical = [
    request.method,
    // The path is encoded already, and once more for every service but S3.
    url.pathname.split('/').map(encode).join('/'),
    [...url.searchParams]
      .map(([name, value]) => [encode(name), encode(value)] as const)
      .sort(byName)
      .map((pair) => pair.join('='))
      .join('&'),
    ...signed.map(([name, value]) => `${name}:${value.trim().replace(/\s+/g, ' ')}`),
    '',
    names,
    sha256(request.body),
  ].join('\n');
  const place = [time.slice(0, 8), region, service, 'aws4_request'];
  const key = place.reduce<string | Buffer>((secret, part) => hmac(secret, part).digest(), `AWS4${secretAccessKey}`);
  const signature = hmac(key, [ALGORITHM, time, place.join('/'), sha256(canonical)].join('\n')).digest('hex');
  const authorization = `${ALGORITHM} Credential=${accessKeyId}/${place.join('/')}, SignedHeaders=${names}, Signature=${signature}`;
  return { ...own, authorization };
}

function byName([a, valueA]: readonly [string, string], [b, valueB]: readonly [string, string]): number {
  if (a === b) return valueA < valueB ? -1 : 1;
  return a < b ? -1 : 1;
}

/** RFC 3986: all but letters, digits and `-._~`. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string) {
  return createHmac('sha256', key).update(text);
}
