/** AWS SigV4: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
import { createHash, createHmac } from 'node:crypto';
import type { UnsignedRequest } from '../protocols/wire-guard.ts';

export interface AwsScope {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  readonly region: string;
  readonly service: string;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** Headers that sign host, content type, time and body of the request. */
export function signAws({ method, url, headers, body, now }: UnsignedRequest, scope: AwsScope): Readonly<Record<string, string>> {
  const { host, pathname, searchParams } = new URL(url);
  const time = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const type = headers.get('content-type');
  const own = { 'x-amz-date': time, ...(scope.sessionToken ? { 'x-amz-security-token': scope.sessionToken } : {}) };
  const signed = Object.entries({ ...(type === null ? {} : { 'content-type': type }), host, ...own }).sort(inOrder);
  const names = signed.map(([name]) => name).join(';');
  const query = [...searchParams].map(([name, value]) => [encode(name), encode(value)] as const).sort(inOrder);
  const canonical = [
    method,
    // The path is encoded already, and once more for every service but S3.
    pathname.split('/').map(encode).join('/'),
    query.map((pair) => pair.join('=')).join('&'),
    ...signed.map(([name, value]) => `${name}:${value.trim().replace(/\s+/g, ' ')}`),
    ...['', names, sha256(body)],
  ].join('\n');
  const place = [time.slice(0, 8), scope.region, scope.service, 'aws4_request'];
  const key = place.reduce<string | Buffer>((secret, part) => hmac(secret, part).digest(), `AWS4${scope.secretAccessKey}`);
  const signature = hmac(key, [ALGORITHM, time, place.join('/'), sha256(canonical)].join('\n')).digest('hex');
  const credential = `Credential=${scope.accessKeyId}/${place.join('/')}`;
  return { ...own, authorization: `${ALGORITHM} ${credential}, SignedHeaders=${names}, Signature=${signature}` };
}

function inOrder(a: readonly [string, string], b: readonly [string, string]): number {
  return a.join('\0') < b.join('\0') ? -1 : 1;
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
