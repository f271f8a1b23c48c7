import { createVerify, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { tempDir } from '../../testing/fakes.ts';
import { WireFault } from '../protocols/wire-guard.ts';
import { googleSigner } from './google.ts';

const KEYS = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PEM = KEYS.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const NOW = Date.UTC(2026, 0, 2);

/**
 * A token server that takes what the account's key has signed for it, and hands out `token-1`, `token-2`, …
 */
async function scene(answer: { status?: number; expires_in?: number } = {}) {
  const dir = await tempDir();
  const claims: Record<string, unknown>[] = [];
  const server = createServer(async (request, response) => {
    const form = new URLSearchParams(await text(request));
    const [head = '', body = '', signature = ''] = (form.get('assertion') ?? '').split('.');
    const isSigned = createVerify('RSA-SHA256').update(`${head}.${body}`).verify(KEYS.publicKey, signature, 'base64url');
    claims.push(JSON.parse(Buffer.from(body, 'base64url').toString()));
    const ok = isSigned && form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer';
    response.writeHead(answer.status ?? (ok ? 200 : 400), { 'content-type': 'application/json' });
    response.end(
      JSON.stringify(answer.status ? {} : { access_token: `token-${claims.length}`, expires_in: answer.expires_in ?? 3_600 }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const token_uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  const file = join(dir.path, 'account.json');
  const account = { type: 'service_account', client_email: 'bot@project.iam', private_key: PEM, private_key_id: 'k1', token_uri };
  const write = (over: object = {}) => writeFile(file, JSON.stringify({ ...account, ...over }));
  await write();
  return {
    ...{ file, claims, write, token_uri },
    async [Symbol.asyncDispose]() {
      server.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

const request = (now = NOW) => ({ method: 'POST', url: 'https://x/', headers: new Headers(), body: '', now });

async function failureOf(signing: Promise<unknown>) {
  const error: unknown = await signing.catch((caught: unknown) => caught);
  return error instanceof WireFault ? error.failure : undefined;
}

test('the account signs for a token, which serves all requests until it is about to end', async () => {
  await using at = await scene();
  const sign = googleSigner(at.file);
  const both = await Promise.all([sign(request()), sign(request())]);
  expect(both).toEqual([{ authorization: 'Bearer token-1' }, { authorization: 'Bearer token-1' }]);
  expect(await sign(request(NOW + 3_500_000))).toEqual({ authorization: 'Bearer token-1' });
  expect(await sign(request(NOW + 3_541_000))).toEqual({ authorization: 'Bearer token-2' });
  const later = Array.from({ length: 5 }, () => sign(request(NOW + 9_000_000)));
  expect(new Set((await Promise.all(later)).map(({ authorization }) => authorization))).toEqual(new Set(['Bearer token-3']));
  const iat = NOW / 1_000;
  expect(at.claims[0]).toEqual({
    ...{ iss: 'bot@project.iam', scope: 'https://www.googleapis.com/auth/cloud-platform', aud: at.token_uri },
    ...{ iat, exp: iat + 3_600 },
  });
});

test('a refused account is a refused key, a token server in trouble is not, and the next call asks again', async () => {
  await using refusing = await scene({ status: 400 });
  const sign = googleSigner(refusing.file);
  expect(await failureOf(sign(request()))).toMatchObject({ kind: 'auth', message: expect.stringContaining('status 400') });
  expect(await failureOf(sign(request()))).toMatchObject({ kind: 'auth' });
  expect(refusing.claims).toHaveLength(2);
  await using troubled = await scene({ status: 503 });
  expect(await failureOf(googleSigner(troubled.file)(request()))).toMatchObject({ kind: 'overloaded' });
});

test.each([
  ['no service account', { type: 'authorized_user' }],
  ['no private key', { private_key: '' }],
  ['a broken private key', { private_key: PEM.replace('M', '-') }],
  ['a token server in plain text', { token_uri: 'http://192.0.2.1/token' }],
])('A29 %s: a refused key whose text holds nothing of the file', async (_name, over) => {
  await using at = await scene();
  await at.write(over);
  const failure = await failureOf(googleSigner(at.file)(request()));
  expect(failure).toMatchObject({ kind: 'auth', hint: expect.stringContaining('GOOGLE_APPLICATION_CREDENTIALS') });
  expect(JSON.stringify(failure)).not.toContain(PEM.slice(30, 60));
  expect(at.claims).toEqual([]);
});

test('a key file that is not there is told apart from one of the wrong kind', async () => {
  await using at = await scene();
  const failure = await failureOf(googleSigner(`${at.file}.missing`)(request()));
  expect(failure).toMatchObject({ kind: 'auth', message: 'the key file cannot be read' });
  expect(failure).toMatchObject({ hint: expect.stringContaining('GOOGLE_APPLICATION_CREDENTIALS') });
});
